"""What runs a compiled program: executables, object files, the weight blob, the thread pool."""
