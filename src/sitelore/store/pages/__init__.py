"""Repository functions for the pages of a run or site: reads, deletion detection, reprocessing."""
