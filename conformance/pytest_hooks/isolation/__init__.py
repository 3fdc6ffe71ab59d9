"""What one test must not leave to the next: read before it, compared after it, told and put back."""
