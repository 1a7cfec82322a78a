// A test's own folder, removed with the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "router_test_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = std::filesystem::canonical(name).string();
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  // The absolute path of name in this folder.
  std::string at(const std::string& name) const { return path_ + "/" + name; }

  std::string folder(const std::string& name) const {
    std::filesystem::create_directories(at(name));
    return at(name);
  }
  std::string file(const std::string& name, mode_t mode = 0755,
                   const std::string& text = "#!/bin/sh\n") const {
    std::ofstream(at(name)) << text;
    EXPECT_EQ(chmod(at(name).c_str(), mode), 0);
    return at(name);
  }
  std::string link(const std::string& name, const std::string& target) const {
    std::filesystem::create_symlink(target, at(name));
    return at(name);
  }

 private:
  std::string path_;
};
