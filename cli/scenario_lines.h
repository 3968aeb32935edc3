// Lines of a scenario file, for reports that point into it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hybridscope {

class ScenarioLines {
 public:
  // An empty path, or a file that cannot be read, has no lines.
  explicit ScenarioLines(const std::string& path);

  // Where the request is declared ("id": NAME), else 1; 0 without a file.
  std::int64_t of_request(std::string_view name) const;

 private:
  std::string text_;
};

}  // namespace hybridscope
