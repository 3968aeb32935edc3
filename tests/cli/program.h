// Runs the built program as a user would.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hybridscope::test {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// `arguments` as typed in a shell, from the project's root. `environment` is "NAME=value ..." for a
// shell; what CI and test runners set themselves is taken away.
ProgramResult run_program(const std::string& arguments, const std::string& environment = "");

// The same where no file can become larger than `max_bytes`, a multiple of 512: as on a full disk.
// Standard output and standard error are such files too.
ProgramResult run_program_with_full_disk(const std::string& arguments, int max_bytes,
                                         const std::string& environment = "");

// A file with this content in a folder of this process alone, which is removed at the process's end
// unless a test failed; its path.
std::string temporary_file(const std::string& name, const std::string& content);

// A folder of this test alone with these files, name and content; its path, without a slash.
std::string temporary_folder(const std::string& name,
                             const std::vector<std::pair<std::string, std::string>>& files);

std::string read_file(const std::string& path);

}  // namespace hybridscope::test
