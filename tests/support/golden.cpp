#include "tests/support/golden.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace hybridscope::test {
namespace {

std::string difference_at(const Json& expected, const Json& got, const std::string& path) {
  if (expected.is_object() && got.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (!got.contains(key)) return path + "/" + key + ": expected " + value.dump() + ", absent";
      if (auto text = difference_at(value, got.at(key), path + "/" + key); !text.empty())
        return text;
    }
    for (const auto& [key, value] : got.items())
      if (!expected.contains(key)) return path + "/" + key + ": not expected, got " + value.dump();
    return {};
  }
  if (expected.is_array() && got.is_array()) {
    if (expected.size() != got.size())
      return path + ": expected " + std::to_string(expected.size()) + " elements " +
             expected.dump() + ", got " + std::to_string(got.size()) + " " + got.dump();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].is_null()) continue;
      if (auto text = difference_at(expected[i], got[i], path + "/" + std::to_string(i));
          !text.empty())
        return text;
    }
    return {};
  }
  if (expected != got) return path + ": expected " + expected.dump() + ", got " + got.dump();
  return {};
}

}  // namespace

std::string shared_dir() { return HYBRIDSCOPE_SHARED_DIR; }

bool golden_available() { return std::filesystem::exists(shared_dir() + "/golden"); }

int for_each_case(const std::string& file,
                  const std::function<void(const Json& test_case)>& check) {
  std::ifstream stream(shared_dir() + "/golden/" + file);
  if (!stream) throw std::runtime_error("cannot read golden/" + file);
  int cases = 0;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty()) continue;
    check(Json::parse(line));
    ++cases;
  }
  return cases;
}

std::string first_difference(const Json& expected, const Json& got) {
  return difference_at(expected, got, "");
}

}  // namespace hybridscope::test
