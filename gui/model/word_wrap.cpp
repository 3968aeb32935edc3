#include "gui/model/word_wrap.h"

#include <algorithm>

#include "core/base/result.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

bool begins_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

// Texts up to this length are measured at once, longer ones letter by letter.
constexpr std::size_t kBytesAtOnce = 256;
constexpr std::string_view kDots = "...";

// Bytes up to the end of the letter that begins at `at`.
std::size_t end_of_letter(std::string_view text, std::size_t at) {
  do {
    ++at;
  } while (at < text.size() && !begins_letter(text[at]));
  return at;
}

std::size_t begin_of_letter(std::string_view text, std::size_t end) {
  do {
    --end;
  } while (end > 0 && !begins_letter(text[end]));
  return end;
}

// The width of the text; of one that is wider than `most`, some number above `most`.
float width_up_to(std::string_view text, float most, const MeasureText& measure) {
  if (text.size() <= kBytesAtOnce) return measure(text);
  float used = 0;
  for (std::size_t at = 0; at < text.size() && used <= most;) {
    const std::size_t next = end_of_letter(text, at);
    used += measure(text.substr(at, next - at));
    at = next;
  }
  return used;
}

// Bytes of a word that is too wide: those that fit, up to a mark if there is one.
std::size_t cut_of(std::string_view word, float width, const MeasureText& measure) {
  std::size_t end = end_of_letter(word, 0);
  float used = measure(word.substr(0, end));
  while (end < word.size()) {
    const std::size_t next = end_of_letter(word, end);
    used += measure(word.substr(end, next - end));
    if (used > width) break;
    end = next;
  }
  const std::size_t mark = word.substr(0, end).find_last_of("_/.,:;-");
  return mark == std::string_view::npos || end == word.size() ? end : mark + 1;
}

void wrap_line(std::string& wrapped, std::string_view line, float width,
               const MeasureText& measure) {
  float used = 0;
  bool is_first = true;  // of its line
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view spaces = line.substr(0, begin);
    std::string_view word = line.substr(begin, line.find(' ', begin) - begin);
    line.remove_prefix(begin + word.size());
    const float gap = spaces.empty() ? 0 : measure(spaces);
    float wide = width_up_to(word, width, measure);
    if (!is_first && used + gap + wide > width) {
      wrapped += '\n';
      used = 0;
    } else {
      wrapped += spaces;
      used += gap;
    }
    while (used + wide > width) {
      const std::size_t cut = cut_of(word, width - used, measure);
      if (cut == word.size()) break;
      wrapped += word.substr(0, cut);
      wrapped += '\n';
      word.remove_prefix(cut);
      wide = width_up_to(word, width, measure);
      used = 0;
    }
    wrapped += word;
    used += wide;
    is_first = false;
  }
}

}  // namespace

std::string cut_end(std::string_view text, float width, const MeasureText& measure) {
  if (width_up_to(text, width, measure) <= width) return std::string(text);
  float used = measure(kDots);
  std::size_t kept = 0;
  while (kept < text.size()) {
    const std::size_t next = end_of_letter(text, kept);
    used += measure(text.substr(kept, next - kept));
    if (used > width) break;
    kept = next;
  }
  return std::string(text.substr(0, kept)).append(kDots);
}

std::string cut_middle(std::string_view text, float width, const MeasureText& measure) {
  if (width_up_to(text, width, measure) <= width) return std::string(text);
  float used = measure(kDots);
  std::size_t first = 0;  // bytes kept at the beginning
  std::size_t last = text.size();
  for (bool at_begin = true; first < last; at_begin = !at_begin) {
    const std::size_t from = at_begin ? first : begin_of_letter(text, last);
    const std::size_t to = at_begin ? end_of_letter(text, first) : last;
    used += measure(text.substr(from, to - from));
    if (used > width) break;
    (at_begin ? first : last) = at_begin ? to : from;
  }
  return std::string(text.substr(0, first)).append(kDots).append(text.substr(last));
}

std::string_view first_bytes(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && !begins_letter(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

std::string wrap_words(std::string_view text, float width, const MeasureText& measure) {
  std::string wrapped;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrap_line(wrapped, text.substr(0, end), width, measure);
    if (end == text.size()) return wrapped;
    wrapped += '\n';
    text.remove_prefix(end + 1);
  }
}

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

float snapped_scroll(const RowsToScroll& rows) {
  HS_EXPECT(rows.wanted + 1 < rows.edges.size());
  const float top = rows.edges[rows.wanted];
  const float bottom = rows.edges[rows.wanted + 1];
  if (top < rows.scroll || bottom - top > rows.room) return top;
  const float least = std::max(rows.scroll, bottom - rows.room);
  return *std::ranges::lower_bound(rows.edges, least - 0.5F);  // rows begin at whole pixels
}

ColumnFit fit_columns(std::span<const ColumnNeed> needs, float room) {
  float wanted = 0;
  float least = 0;
  float first_slack = 0;
  float slack = 0;
  for (const ColumnNeed& need : needs) {
    wanted += need.wanted;
    least += need.least;
    (need.is_first ? first_slack : slack) += need.wanted - need.least;
  }
  ColumnFit fit{.widths = {}, .fits = least <= room};
  const float missing = fit.fits ? std::max(wanted - room, 0.0F) : 0;
  const float first_share = first_slack > 0 ? std::min(missing / first_slack, 1.0F) : 0;
  const float share = slack > 0 ? std::max(missing - first_slack, 0.0F) / slack : 0;
  for (const ColumnNeed& need : needs)
    fit.widths.push_back(need.wanted -
                         (need.wanted - need.least) * (need.is_first ? first_share : share));
  return fit;
}

float whole_columns(std::span<const float> widths, const WholeColumns& in) {
  float width = 0;
  std::size_t shown = 0;
  for (const float column : widths) {
    const float next = column > 0 ? width + column + in.gap : width;
    if (next > in.room) break;
    width = next;
    ++shown;
  }
  return shown < in.least ? in.room : width;
}

}  // namespace hybridscope
