"""Speech as a hidden Markov model: states from words and positions, emissions of sounds in their context."""
