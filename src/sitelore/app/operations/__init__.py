"""Operations on a whole installation: backup, deletion, checks of its services, and accounts."""
