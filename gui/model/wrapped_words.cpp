#include "gui/model/wrapped_words.h"

#include <algorithm>

#include "core/base/check.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

// Where the words behind the label begin: "  A    known 9" is 7, without a label the line's indent
// and two more.
std::size_t hanging_indent(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", first);
  if (gap == std::string_view::npos) return first + 2;
  return text_width(line.substr(0, std::min(line.find_first_not_of(' ', gap), line.size())));
}

// Bytes of the first `count` code points, all if there are fewer.
std::size_t bytes_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && count-- == 0) break;
  }
  return at;
}

// Bytes of the piece that fits, cut before a space where there is one behind `indent`.
std::size_t piece_of(std::string_view line, std::size_t columns, std::size_t indent) {
  const std::size_t most = bytes_of(line, columns);
  if (most == line.size() || line[most] == ' ') return most;
  const std::size_t space = line.rfind(' ', most);
  return space == std::string_view::npos || space <= indent ? most : space;
}

void wrap_line(std::string& wrapped, std::string_view line, std::size_t columns) {
  const std::size_t hanging = std::min(hanging_indent(line), columns / 2);
  std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::size_t room = columns;
  while (true) {
    const std::size_t piece = piece_of(line, room, indent);
    wrapped += line.substr(0, piece);
    line.remove_prefix(piece);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) return;
    wrapped += '\n';
    wrapped.append(hanging, ' ');
    room = columns - hanging;
    indent = 0;
  }
}

}  // namespace

std::string wrap_lines(std::string_view text, std::size_t columns) {
  HS_EXPECT(columns > 0);
  std::string wrapped;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrap_line(wrapped, text.substr(0, end), columns);
    if (end == text.size()) return wrapped;
    wrapped += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace hybridscope
