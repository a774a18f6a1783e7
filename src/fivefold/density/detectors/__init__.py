"""What the outlier detectors of this chapter share."""
