#include "sessions/matrix/matrix_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sessions/page/page_parts.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

constexpr std::array kRowAxes = {Axis::speculation, Axis::runner, Axis::scheduling, Axis::layout};
constexpr std::array kColumnAxes = {Axis::graphs, Axis::pressure};

// Each colour of the palette also has a letter.
constexpr std::string_view kStyle = R"(
main{max-width:1180px;margin:0 auto}h2{margin-top:28px}.scroll{margin:6px 0 14px}
th,td{border:1px solid var(--line);padding:3px 7px;text-align:left;vertical-align:top}
th{background:var(--hover)}td.n,th.n{text-align:right}
.cells td{text-align:center;width:26px;padding:2px 0}.cells th{padding:2px 6px}
.safe{background:var(--ok-back);color:var(--ok)}
.findings{background:var(--error);color:var(--card);font-weight:600}
.untested{background:var(--warning-back);color:var(--warning)}
.refused,.same{background:var(--hover);color:var(--muted)}
.none{color:var(--muted)}.key span{display:inline-block;min-width:22px;
text-align:center;margin:0 4px 0 14px;padding:0 4px;border:1px solid var(--line)}
)";

// The text in a cell; with findings, the number of faults that each cause one alone.
std::string mark_of(const CellResult& cell) {
  switch (cell.verdict) {
    case CellVerdict::safe: return "s";
    case CellVerdict::has_findings:
      return fmt::format("{}", std::ranges::count_if(cell.faults, [](const CellFault& fault) {
                                 return fault.cause.find('+') == std::string::npos;
                               }) + std::ranges::ssize(cell.unexplained));
    case CellVerdict::untested: return "?";
    case CellVerdict::refused: return "-";
    case CellVerdict::same: return "=";
  }

  return "";
}

std::string tooltip_of(const MatrixHeader& header, const CellResult& cell) {
  std::string text =
      fmt::format("{}: {}", cell_name(cell.cell),
                  cell.verdict == CellVerdict::safe ? safe_words(header)
                                                    : std::string(verdict_name(cell.verdict)));
  if (!cell.note.empty()) text += fmt::format(" ({})", cell.note);
  if (cell.num_scenarios == 0) return text;
  text += fmt::format("\n{} of {} scenarios with errors", cell.num_failing, cell.num_scenarios);
  for (const CellFault& fault : cell.faults)
    text += fmt::format("\n{}: {}", fault.cause, fault.scenarios);
  for (const CellFinding& finding : cell.unexplained)
    text +=
        fmt::format("\nunexplained: {} {}", rule_info(finding.kind.rule).slug, finding.kind.detail);
  for (const MatrixEvent event : cell.missing)
    text += fmt::format("\nnever happened: {}",
                        matrix_event_table()[static_cast<std::size_t>(event)].name);
  return text;
}

// A path as a URL, with everything but plain characters escaped.
std::string url_of(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/";
  std::string url;
  for (const char c : path) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kPlain.find(c) != std::string_view::npos)
      url += c;
    else
      url += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

// One cell for each combination of values of these axes; the other axes are those of `base`.
template <std::size_t N>
std::vector<MatrixCell> combinations(const MatrixCell& base, const std::array<Axis, N>& axes) {
  std::vector<MatrixCell> cells = {base};
  for (const Axis axis : axes) {
    std::vector<MatrixCell> more;
    for (const MatrixCell& cell : cells)
      for (std::size_t value = 0; value < axis_info(axis).values.size(); ++value) {
        more.push_back(cell);
        more.back().values[static_cast<std::size_t>(axis)] = static_cast<std::uint8_t>(value);
      }
    cells = std::move(more);
  }
  return cells;
}

class Page {
 public:
  Page(const MatrixContents& contents, const std::vector<MatrixCell>& cells, const MatrixPage& page)
      : contents_(contents), page_(page), summary_(summarize_matrix(contents, cells)) {}

  std::string write() {
    head();
    faults();
    grids();
    events();
    not_modelled();
    const std::string words = title();
    return make_page({.title = words, .body = html_, .style = kStyle});
  }

 private:
  std::string title() const { return "Which combinations are safe: " + contents_.header.engine; }
  void head() {
    const MatrixHeader& header = contents_.header;
    const VerdictCounts& cells = summary_.cells;
    html_ += fmt::format("<main>\n<h1>{}</h1>\n", html_escaped(title()));
    html_ += fmt::format(
        "<p>{} cells were run with {} scenarios, {} a cell ({} steps, seed {}, {}): <b>{} {}</b>, "
        "<b>{} with findings</b>, <b>{} untested</b>; {} are refused by the engine, {} come down "
        "to another cell{}.</p>\n",
        grouped_number(cells.run()), grouped_number(summary_.num_scenarios),
        grouped_number(header.scenarios_per_cell), grouped_number(summary_.num_steps), header.seed,
        html_escaped(header.program), grouped_number(cells.safe), safe_words(header),
        grouped_number(cells.with_findings), grouped_number(cells.untested),
        grouped_number(cells.refused), grouped_number(cells.same),
        cells.not_run > 0 ? fmt::format(", <b>{} were not run</b>", grouped_number(cells.not_run))
                          : std::string());
    if (!header.policies.empty())
      html_ += fmt::format("<p>Policies set: <code>{}</code></p>\n", html_escaped(header.policies));
  }

  void faults() {
    html_ += "<h2>What was found</h2>\n";
    if (summary_.faults.empty()) {
      html_ += "<p>Nothing.</p>\n";
      return;
    }
    html_ +=
        "<div class=\"scroll\"><table><tr><th>fault</th><th class=\"n\">cells</th><th>where it "
        "shows</th><th>first rule</th><th>small scenario</th></tr>\n";
    std::int64_t accidents = 0;
    for (const FaultSummary& fault : summary_.faults) {
      accidents += fault.accident;
      if (fault.accident) continue;
      const std::string title =
          page_.title_of && !fault.cause.empty() ? page_.title_of(fault.cause) : "";
      html_ += fmt::format(
          "<tr><td>{}{}</td><td "
          "class=\"n\">{}</td><td>{}</td><td><code>{}</code></td><td>{}</td></tr>\n",
          fault.cause.empty() ? "<b>unexplained</b>" : html_escaped(fault.cause),
          title.empty() ? ""
                        : fmt::format("<br><span class=\"aside\">{}</span>", html_escaped(title)),
          grouped_number(fault.cells),
          fault.where.empty() ? "every value of every axis" : html_escaped(fault.where),
          rule_info(fault.kind.rule).slug,
          fault.file.empty()
              ? html_escaped(fault.no_file)
              : fmt::format("<a href=\"{0}\">{1}, {2}</a>",
                            url_of(page_.path_of ? page_.path_of(fault.file) : fault.file),
                            counted(fault.num_requests, "request"),
                            counted(fault.num_steps, "step")));
    }
    html_ += "</table></div>\n";
    if (accidents > 0)
      html_ +=
          fmt::format("<p>{} of these at once, in scenarios that one alone leaves right.</p>\n",
                      counted(accidents, "combination"));
  }

  void grids() {
    html_ += fmt::format(
        "<h2>Cells</h2>\n<p class=\"key\">Columns: CUDA graph mode, then pressure (none, budget, "
        "preemption, reset).<br><span class=\"safe\">s</span>{} <span "
        "class=\"findings\">4</span>findings, of so many faults <span "
        "class=\"untested\">?</span>untested: an event of the cell never happened <span "
        "class=\"refused\">-</span>refused <span class=\"same\">=</span>the same as another cell "
        "<span class=\"none\">.</span>not run. A cell says more under the mouse. Rows that are "
        "refused as a whole are left out.</p>\n",
        safe_words(contents_.header));
    for (const MatrixCell& base :
         combinations(MatrixCell{}, std::array{Axis::mode, Axis::prefix_caching, Axis::retention,
                                               Axis::match_unit, Axis::checkpoints}))
      if (!stands_for(base)) grid(base);
    html_ +=
        "<p>Without prefix caching every mode is mode none, mode none has no prefix caching, and "
        "full graphs of recurrent layers become full_and_piecewise: the reference sees to all "
        "three. Retention, match unit and checkpoints have a meaning with prefix caching only, a "
        "finer match unit and checkpoints in mode align only.</p>\n";
  }

  void grid(const MatrixCell& base) {
    html_ += fmt::format("<h2>mode {}, prefix caching {}", base.value(Axis::mode),
                         base.value(Axis::prefix_caching));
    if (base.enable_prefix_caching())
      html_ +=
          fmt::format(", retention {}, match unit {}, checkpoints {}", base.value(Axis::retention),
                      base.value(Axis::match_unit), base.value(Axis::checkpoints));
    html_ += "</h2>\n<div class=\"scroll\"><table class=\"cells\"><tr>";
    html_ += fmt::format("<th colspan=\"{}\">graphs</th>", kRowAxes.size());
    const AxisInfo& graphs = axis_info(Axis::graphs);
    const AxisInfo& pressure = axis_info(Axis::pressure);
    for (const std::string_view value : graphs.values)
      html_ += fmt::format("<th colspan=\"{}\">{}</th>", pressure.values.size(), value);
    html_ += "</tr>\n<tr>";
    for (const Axis axis : kRowAxes) html_ += fmt::format("<th>{}</th>", axis_info(axis).name);
    for (std::size_t i = 0; i < graphs.values.size(); ++i)
      for (const std::string_view value : pressure.values)
        html_ += fmt::format("<th title=\"pressure {}\">{}</th>", value, value.substr(0, 3));
    html_ += "</tr>\n";
    for (const MatrixCell& row : combinations(base, kRowAxes)) grid_row(row);
    html_ += "</table></div>\n";
  }

  void grid_row(const MatrixCell& row) {
    const std::vector<MatrixCell> cells = combinations(row, kColumnAxes);
    std::string line;
    bool any = false;
    for (const MatrixCell& cell : cells) {
      const auto found = contents_.cells.find(cell_name(cell));
      if (found == contents_.cells.end()) {
        line += "<td class=\"none\">.</td>";
        continue;
      }
      any = any || found->second.verdict != CellVerdict::refused;
      line += fmt::format(
          "<td class=\"{}\" title=\"{}\">{}</td>", verdict_name(found->second.verdict),
          html_escaped(tooltip_of(contents_.header, found->second)), mark_of(found->second));
    }
    if (!any) return;  // refused, or not in this matrix
    html_ += "<tr>";
    for (const Axis axis : kRowAxes) html_ += fmt::format("<th>{}</th>", row.value(axis));
    html_ += line + "</tr>\n";
  }

  void events() {
    html_ +=
        "<h2>What happened in them</h2>\n<div class=\"scroll\"><table><tr><th>event</th><th "
        "class=\"n\">times</th><th class=\"n\">scenarios</th><th>meaning</th></tr>\n";
    for (const MatrixEventInfo& info : matrix_event_table()) {
      const EventCount& count = summary_.events[static_cast<std::size_t>(info.event)];
      html_ += fmt::format(
          "<tr><td><code>{}</code></td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td><td>{}</td></tr>\n",
          info.name, grouped_number(count.times), grouped_number(count.scenarios), info.meaning);
    }
    html_ += "</table></div>\n";
  }

  void not_modelled() {
    html_ += "<h2>Not modelled</h2>\n<ul>\n";
    for (const NotModelled& one : kNotModelled)
      html_ += fmt::format("<li>{}: {}</li>\n", one.name, one.why);
    html_ += "</ul>\n</main>\n";
  }

  const MatrixContents& contents_;
  const MatrixPage& page_;
  MatrixSummary summary_;
  std::string html_;
};

}  // namespace

std::string matrix_as_html(const MatrixContents& contents, const std::vector<MatrixCell>& cells,
                           const MatrixPage& page) {
  return Page(contents, cells, page).write();
}

}  // namespace hybridscope
