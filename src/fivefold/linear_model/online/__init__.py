"""Methods trained row by row: SGD, perceptron, Pegasos, delta rule; the passes and the training they share."""
