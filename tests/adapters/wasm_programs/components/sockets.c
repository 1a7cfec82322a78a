// A component only: asks for sockets and for the address of a name.
#include <stdio.h>

#include "command.h"

bool exports_wasi_cli_run_run(void) {
  wasi_sockets_network_error_code_t error;
  wasi_sockets_tcp_create_socket_own_tcp_socket_t tcp;
  wasi_sockets_udp_create_socket_own_udp_socket_t udp;
  wasi_sockets_ip_name_lookup_own_resolve_address_stream_t addresses;
  wasi_sockets_network_own_network_t network = wasi_sockets_instance_network_instance_network();
  command_string_t name = {(uint8_t *)"localhost", 9};
  puts(wasi_sockets_tcp_create_socket_create_tcp_socket(0, &tcp, &error) ? "a TCP socket"
                                                                         : "refused");
  puts(wasi_sockets_udp_create_socket_create_udp_socket(0, &udp, &error) ? "a UDP socket"
                                                                         : "refused");
  puts(wasi_sockets_ip_name_lookup_resolve_addresses(wasi_sockets_network_borrow_network(network),
                                                     &name, &addresses, &error)
           ? "addresses"
           : "refused");
  fflush(stdout);
  return true;
}
