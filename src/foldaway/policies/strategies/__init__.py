"""The strategy library (S4.4): ways to use the room of a window, one a file, put together by `chain`."""
