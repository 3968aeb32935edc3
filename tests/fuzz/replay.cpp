// Gives files to a fuzzed reader, without libFuzzer: replay NAME FILE|FOLDER...
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

struct Target {
  std::string_view name;
  void (*read)(std::string_view text);
};

constexpr Target kTargets[] = {
#define HYBRIDSCOPE_FUZZ_TARGET(name) {#name, hybridscope::test::fuzz_##name},
#include "tests/fuzz/fuzz_targets.inc"
#undef HYBRIDSCOPE_FUZZ_TARGET
};

}  // namespace

// Exit code 1 when there is no such reader or no input, so that a moved folder is noticed.
int main(int argc, char** argv) {
  const auto target = std::ranges::find(kTargets, argc > 1 ? argv[1] : "", &Target::name);
  if (target == std::end(kTargets)) {
    std::cerr << "usage: replay NAME FILE|FOLDER...\n";
    return 1;
  }
  int num_inputs = 0;
  for (int i = 2; i < argc; ++i)
    for (const fs::path& file : files_of(argv[i])) {
      std::cout << file.filename().string() << std::endl;  // printed before a crash
      std::ifstream in(file, std::ios::binary);
      if (!in) {
        std::cerr << "cannot read " << file << "\n";
        return 1;
      }
      target->read(std::string{std::istreambuf_iterator<char>(in), {}});
      ++num_inputs;
    }
  std::cout << num_inputs << " inputs\n";
  return num_inputs > 0 ? 0 : 1;
}
