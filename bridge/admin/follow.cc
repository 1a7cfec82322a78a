#include "admin/follow.h"

namespace admin {
namespace {

using nlohmann::json;

constexpr const char* kShown[] = {"SCRIPT_FILENAME", "SCRIPT_NAME",     "PATH_INFO",
                                  "DOCUMENT_ROOT",   "REQUEST_URI",     "QUERY_STRING",
                                  "REMOTE_ADDR",     "SERVER_SOFTWARE", "REQUEST_METHOD"};

// Held by the client.
class Following {
 public:
  Following(journal::Followers& followers, const ControlClient& client)
      : followers_(followers), client_(client) {}
  ~Following() { followers_.forget(&client_); }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  journal::Followers& followers_;
  const ControlClient& client_;
};

}  // namespace

json follow(journal::Followers& followers, const json& arguments, ControlClient& client) {
  client.hold({});  // forgets what it followed before
  const auto added =
      followers.add(&client, text_of(arguments, "marker"),
                    {[&client](const auto& entry) { client.send(began_json(entry)); },
                     [&client](const auto& entry) { client.send(ended_json(entry)); }});
  if (!added) return refused(added.error().message);
  client.hold(std::make_shared<Following>(followers, client));
  return {{"ok", true}};
}

json began_json(const journal::Entry& entry) {
  json params = json::object();
  for (const char* name : kShown) params[name] = journal::value_of(entry.params, name);
  return {{"event", "began"}, {"id", entry.id}, {"params", std::move(params)}};
}

json ended_json(const journal::Entry& entry) {
  return {{"event", "ended"},
          {"id", entry.id},
          {"program", entry.program},
          {"status", entry.seen.status},
          {"arm", compare::to_string(entry.seen.arm)},
          {"started", entry.pid > 0},
          {"level", entry.level},
          {"why", entry.why},
          {"latency_us", entry.seen.latency.count()},
          {"queue_us", entry.seen.queue.count()},
          {"exit_code", entry.exit_code ? json(*entry.exit_code) : json(nullptr)},
          {"ended_by", entry.ended_by},
          {"last_error", entry.last_error}};
}

}  // namespace admin
