#include "sessions/judge/known_lines.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hybridscope {

KnownLines::Is KnownLines::take(std::string_view line) {
  const std::uint64_t hash = XXH3_64bits(line.data(), line.size());
  if (next_ == hashes_.size()) {
    hashes_.push_back(hash);
    ++next_;
    return Is::news;
  }
  if (hashes_[next_] != hash) return Is::another;
  ++next_;
  return Is::known;
}

}  // namespace hybridscope
