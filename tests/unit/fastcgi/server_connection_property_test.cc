// Random clients with a fixed seed: the events of ServerConnection do not depend on how reads cut
// the bytes, and every request arrives whole however requests are mixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fastcgi/server_connection.h"
#include "unit/fastcgi/client_bytes.h"
#include "unit/fastcgi/transcript.h"

namespace fastcgi {
namespace {

using namespace test;

constexpr unsigned kSeed = 20240229;

class Dice {
 public:
  std::size_t below(std::size_t bound) { return engine_() % bound; }

  std::string bytes(std::size_t size) {
    std::string out(size, '\0');
    for (char& byte : out) byte = static_cast<char>(engine_());
    return out;
  }

  std::vector<std::size_t> cuts(std::size_t size, std::size_t count) {
    std::vector<std::size_t> out(count);
    for (std::size_t& cut : out) cut = below(size + 1);
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::mt19937 engine_{kSeed};
};

// content as a stream of records with random sizes and paddings, and its end.
std::vector<std::string> stream(Dice& dice, unsigned type, RequestId id, std::string_view content) {
  std::vector<std::string> records;
  while (!content.empty()) {
    const std::size_t size = 1 + dice.below(std::min<std::size_t>(content.size(), 300));
    records.push_back(raw_record(type, id, content.substr(0, size), dice.below(256)));
    content.remove_prefix(size);
  }
  records.push_back(raw_record(type, id, "", dice.below(9)));
  return records;
}

struct Sent {
  std::string params_stream;
  std::string body;
};

// The records of one request, in order.
std::vector<std::string> request_records(Dice& dice, RequestId id, Sent& sent) {
  for (std::size_t i = dice.below(8); i > 0; --i) {
    append_name_value(sent.params_stream, dice.bytes(dice.below(40)), dice.bytes(dice.below(300)));
  }
  sent.body = dice.bytes(dice.below(2000));
  std::vector<std::string> records = {keep(id)};
  for (const auto& [type, content] :
       {std::pair{FCGI_PARAMS, &sent.params_stream}, std::pair{FCGI_STDIN, &sent.body}}) {
    for (auto& record : stream(dice, type, id, *content)) records.push_back(std::move(record));
  }
  return records;
}

// Mixes the requests' records at random, but keeps each request's own order.
std::string mix(Dice& dice, const std::vector<std::vector<std::string>>& requests) {
  std::vector<std::size_t> turns;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    turns.insert(turns.end(), requests[i].size(), i);
  }
  for (std::size_t i = turns.size(); i > 1; --i) std::swap(turns[i - 1], turns[dice.below(i)]);
  std::vector<std::size_t> next(requests.size());
  std::string bytes;
  for (std::size_t turn : turns) bytes += requests[turn][next[turn]++];
  return bytes;
}

std::string mixed_requests(Dice& dice, std::map<RequestId, Sent>& sent) {
  std::vector<std::vector<std::string>> requests;
  for (std::size_t i = 1 + dice.below(4); i > 0; --i) {
    const auto id = static_cast<RequestId>(1 + i * 4099);
    requests.push_back(request_records(dice, id, sent[id]));
  }
  return mix(dice, requests);
}

// The part of each request that arrived, from a connection fed with the pieces.
std::map<RequestId, Sent> receive(const Pieces& pieces) {
  std::map<RequestId, Sent> received;
  ServerConnection connection({});
  Event event;
  for (std::string_view piece : pieces) {
    connection.feed(piece);
    while (connection.next(event) == EventStep::event) {
      Sent& one = received[event.id];
      EXPECT_NE(event.type, EventType::bad_record) << event.why;
      for (const auto& [name, value] : event.params) {
        append_name_value(one.params_stream, name, value);
      }
      if (event.type == EventType::stdin_bytes) one.body += event.bytes;
    }
  }
  return received;
}

TEST(ServerConnection, receives_mixed_requests_whole_whatever_the_cuts) {
  Dice dice;
  for (int round = 0; round < 300; ++round) {
    std::map<RequestId, Sent> sent;
    const std::string bytes = mixed_requests(dice, sent);
    const auto received = receive(cut_before(bytes, dice.cuts(bytes.size(), dice.below(60))));
    ASSERT_EQ(received.size(), sent.size()) << "round " << round;
    for (const auto& [id, one] : sent) {
      ASSERT_EQ(received.at(id).params_stream, one.params_stream) << "round " << round;
      ASSERT_EQ(received.at(id).body, one.body) << "round " << round;
    }
  }
}

TEST(ServerConnection, tells_the_same_of_damaged_bytes_whatever_the_cuts) {
  Dice dice;
  const ServerLimits limits = {.params_bytes_max = 900, .requests_max = 3};
  for (int round = 0; round < 500; ++round) {
    std::map<RequestId, Sent> sent;
    std::string bytes = mixed_requests(dice, sent);
    for (std::size_t i = dice.below(4); i > 0; --i) {
      bytes[dice.below(bytes.size())] = static_cast<char>(dice.below(256));
    }
    const Lines whole = run_connection(limits, {bytes});
    const Pieces pieces = cut_before(bytes, dice.cuts(bytes.size(), 1 + dice.below(60)));
    ASSERT_EQ(run_connection(limits, pieces), whole) << "round " << round;
  }
}

}  // namespace
}  // namespace fastcgi
