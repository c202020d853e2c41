/* Sends a finished request body from a file to 127.0.0.1: the upper limit of the machine for an upload.
 * Usage: send PORT FILE. Build: cc -O2 -o send send.c */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int file = open(argv[2], O_RDONLY);
  struct stat info;
  if (file < 0 || fstat(file, &info)) return 1;
  size_t left = (size_t)info.st_size;
  const char *body = mmap(NULL, left, PROT_READ, MAP_SHARED, file, 0);
  if (body == MAP_FAILED) return 1;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(fd, (struct sockaddr *)&address, sizeof address)) return 1;
  char head[200];
  int length = snprintf(head, sizeof head, "POST /runs HTTP/1.1\r\nhost: x\r\ncontent-length: %zu\r\n\r\n", left);
  if (write(fd, head, (size_t)length) != length) return 1;
  while (left > 0) {
    ssize_t n = write(fd, body, left < (1 << 20) ? left : 1 << 20);
    if (n <= 0) return 1;
    body += n;
    left -= (size_t)n;
  }
  return read(fd, head, sizeof head) > 0 ? 0 : 1;
}
