#include "sessions/matrix/program_digest.h"

#include <fmt/core.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fstream>
#include <vector>

namespace hybridscope {

Result<std::string> program_digest() {
  constexpr const char* kProgram = "/proc/self/exe";
  std::ifstream file(kProgram, std::ios::binary);
  std::vector<char> bytes(std::size_t{1} << 20);
  std::uint64_t digest = 0;
  std::streamsize count = 0;
  do {
    count = file.rdbuf()->sgetn(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    digest = XXH3_64bits_withSeed(bytes.data(), static_cast<std::size_t>(count), digest);
  } while (count == static_cast<std::streamsize>(bytes.size()));
  if (!file || digest == XXH3_64bits_withSeed(nullptr, 0, 0))
    return Error{ErrorKind::not_available,
                 fmt::format("{}: the program's own file cannot be read", kProgram)};
  return fmt::format("{:016x}", digest);
}

}  // namespace hybridscope
