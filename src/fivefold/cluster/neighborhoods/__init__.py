"""What clusterers by density share: the search for neighbours, dense regions, spanning trees, steps uphill."""
