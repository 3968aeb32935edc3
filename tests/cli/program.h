// Runs the built program as a user would.
#pragma once

#include <string>

namespace hybridscope::test {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// `arguments` as typed in a shell, from the project's root.
ProgramResult run_program(const std::string& arguments);

// A file below the test's temporary folder with this content; its path.
std::string temporary_file(const std::string& name, const std::string& content);

}  // namespace hybridscope::test
