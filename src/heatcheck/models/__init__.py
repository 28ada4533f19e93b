"""What is explained: protocols, our own attention models, the training loop and checkpoints."""
