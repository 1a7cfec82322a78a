// What Apache's configuration says where mod_proxy_fcgi passes requests to the bridge; the whole of
// it, with the reasons, is config/apache/apache-proxy-fcgi.conf. Pure. Each text belongs after
// indent, with which its further lines begin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace migrate {

// A word as Apache reads it: in quotes, if it needs them.
std::string apache_word(std::string_view word);

// The two lines that go into a Directory, Location or Files. If mod_proxy_fcgi is not loaded, the
// second one makes Apache refuse to start, instead of sending visitors the programs themselves.
std::string handler_lines(const std::string& indent, std::string_view socket);

std::string stanza_for_folder(const std::string& folder, const std::string& indent,
                              std::string_view socket);
std::string stanza_for_file(const std::string& file, const std::string& indent,
                            std::string_view socket);
std::string stanza_for_suffixes(const std::vector<std::string>& suffixes, const std::string& indent,
                                std::string_view socket);

// For the end of the main file: how its connections are used.
std::string proxy_stanza();

}  // namespace migrate
