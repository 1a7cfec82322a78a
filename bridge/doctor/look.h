// Looks at everything, without changing anything.
#pragma once

#include <optional>
#include <string>

#include "config/settings.h"
#include "doctor/http_text.h"
#include "doctor/observations.h"

namespace doctor {

// What is to be looked at.
struct Question {
  const config::Settings& settings;
  std::string settings_file;
  std::string control;                  // socket of the bridge
  std::string adapters;                 // folder
  std::string version;                  // of this binary
  std::optional<AskedUrl> url;          // of a request to send and follow
  std::optional<Who> server_user = {};  // judge for that user instead of the running web servers
};

// Takes some seconds at most, and up to 20 if a program answers slowly.
Observations look(const Question& question);

}  // namespace doctor
