package main

import "golang.org/x/sys/unix"

// readFile reads a file of /proc. It does so by plain calls: os.ReadFile would
// first offer the file to the runtime's poller, which costs more than the rest.
func readFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	text := make([]byte, 0, 1024)
	for {
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return text, err
		}
		if text = text[:len(text)+n]; len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
	}
}
