"""Wake-up notifications and run events, within a process or between processes by Redis."""
