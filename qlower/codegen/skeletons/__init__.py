"""Loop skeletons: one file or folder for each way to run a nest."""
