// Runs a fuzz target on files, without libFuzzer: replay FILE|FOLDER...
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
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

}  // namespace

// Exit code 1 when there is no input, so that a moved folder is noticed.
int main(int argc, char** argv) {
  int num_inputs = 0;
  for (int i = 1; i < argc; ++i)
    for (const fs::path& file : files_of(argv[i])) {
      std::cout << file.filename().string() << std::endl;  // printed before a crash
      std::ifstream in(file, std::ios::binary);
      if (!in) {
        std::cerr << "cannot read " << file << "\n";
        return 1;
      }
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++num_inputs;
    }
  std::cout << num_inputs << " inputs\n";
  return num_inputs > 0 ? 0 : 1;
}
