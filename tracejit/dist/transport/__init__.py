"""Messages and collectives between processes: of one machine, by MPI, by threads"""
