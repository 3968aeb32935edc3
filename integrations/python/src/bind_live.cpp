#include <fmt/core.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/judge_feed.h"
#include "integrations/python/src/line_thread.h"
#include "integrations/python/src/python_values.h"
#include "integrations/python/src/record_text.h"
#include "integrations/python/src/row_source.h"
#include "sessions/run/finding_list.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

Status write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return Error{ErrorKind::io, fmt::format("cannot write a line: {}", std::strerror(errno))};
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return Ok{};
}

// `line` with the members of the object `rows`.
std::string with_members(std::string line, std::string_view rows) {
  const std::size_t end = line.rfind('}');
  const std::size_t begin = rows.find('{') + 1;
  line.replace(end, std::string::npos, ",");
  line += rows.substr(begin);
  return line;
}

// Texts whose memory is used again: fresh memory costs the engine's thread more than what it writes
// there.
class RecordTexts : public std::enable_shared_from_this<RecordTexts> {
 public:
  std::shared_ptr<RecordText> take(const py::dict& record) {
    std::unique_ptr<RecordText> text;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        text = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (text == nullptr)
      text = std::make_unique<RecordText>(record);
    else
      text->take(record);
    return {text.release(), [texts = shared_from_this()](RecordText* used) {
              texts->give_back(std::unique_ptr<RecordText>(used));
            }};
  }

 private:
  static constexpr std::size_t kMostIdle = 8;  // of the many after a time in which lines waited

  void give_back(std::unique_ptr<RecordText> text) {
    text->clear();  // lets go of copied arrays
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(text));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<RecordText>> idle_;
};

// Lines of a trace that a thread of its own finishes, writes and judges.
class LiveLines {
 public:
  // A file that is served: it gets lines as long as it stays within the limit, then a control line
  // that says why there are no more.
  struct Spool {
    int file = -1;  // -1: nothing is served any more
    std::int64_t limit = 0;
    std::int64_t written = 0;
  };

  LiveLines(std::vector<int> files, int rows, py::object judge, py::function on_finding,
            py::function on_error, std::pair<int, std::int64_t> spool, py::function on_full)
      : files_(std::move(files)),
        spool_{.file = spool.first, .limit = spool.second},
        rows_(rows),
        judge_(std::move(judge)),
        feed_(judge_.is_none() ? nullptr : judge_.cast<Locked<JudgeFeed>*>()),
        on_finding_(std::move(on_finding)),
        on_error_(std::move(on_error)),
        on_full_(std::move(on_full)),
        thread_({.take = [this](const std::string& line) { return take(line); },
                 .failed = [this](const Error& error) { tell_error(error); }}) {}

  void put(const py::dict& record, bool has_rows) {
    LineThread::MakeLine make = [this, text = texts_->take(record),
                                 has_rows]() -> Result<std::string> {
      if (has_rows) return text->line();
      auto rows = rows_.next();
      if (!rows.ok()) return rows.error();
      return with_members(text->line(), rows.value());
    };
    // Who gives the GIL away may wait for it.
    if (!thread_.put_at_once(make)) without_gil([&] { thread_.put(std::move(make)); });
  }
  void drain() {
    without_gil([&] { thread_.drain(); });
  }
  void close() {
    rows_.stop();
    without_gil([&] { thread_.close(); });
    if (!thread_.is_running())
      on_finding_ = on_error_ = on_full_ = py::function();  // they may hold this object
  }

 private:
  Status take(const std::string& line) {
    for (const int file : files_)
      if (Status written = write_all(file, line); !written.ok()) return written;
    if (Status served = serve(line); !served.ok()) return served;
    if (feed_ == nullptr) return Ok{};
    auto found = feed_->use_without_gil([&](JudgeFeed& feed) { return feed.feed(line); });
    if (!found.ok()) return found.error();
    tell_findings(std::move(found).value());
    return Ok{};
  }

  // Error also: nobody takes lines any more.
  Status serve(const std::string& line) {
    if (spool_.file < 0) return Ok{};
    spool_.written += std::ssize(line);
    if (spool_.written <= spool_.limit) return write_all(spool_.file, line);
    const std::string why = fmt::format(
        "the engine serves no more steps: its trace has come to the limit of {} (spool:SIZE)",
        format_byte_size(spool_.limit));
    const nlohmann::ordered_json control = {{"control", "full"}, {"reason", why}};
    if (Status told = write_all(std::exchange(spool_.file, -1), control.dump() + "\n"); !told.ok())
      return told;
    if (files_.empty() && feed_ == nullptr) return Error{ErrorKind::not_available, why};
    call_back(on_full_, "on_full", why);
    return Ok{};
  }

  // Each call takes the GIL from the engine, and consequences are many: the first ones of each
  // rule.
  void tell_findings(std::vector<nlohmann::ordered_json> findings) {
    std::erase_if(findings, [&](const nlohmann::ordered_json& finding) {
      return ++num_found_[finding.at("rule").get<std::string>()] > kMaxFindingsARule;
    });
    if (findings.empty()) return;
    const py::gil_scoped_acquire acquired;
    try {
      for (const nlohmann::ordered_json& finding : findings) on_finding_(to_python(finding));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("hybridscope, on_finding");
    }
  }

  void tell_error(const Error& error) {
    rows_.hang_up();
    call_back(on_error_, "on_error", error.message);
  }

  static void call_back(const py::function& function, const char* name, const std::string& text) {
    const py::gil_scoped_acquire acquired;
    try {
      function(text);
    } catch (py::error_already_set& raised) {
      raised.discard_as_unraisable(fmt::format("hybridscope, {}", name).c_str());
    }
  }

  std::vector<int> files_;
  Spool spool_;
  std::map<std::string, std::int64_t> num_found_;  // by rule
  std::shared_ptr<RecordTexts> texts_ = std::make_shared<RecordTexts>();
  RowSource rows_;
  py::object judge_;
  Locked<JudgeFeed>* feed_;
  py::function on_finding_;
  py::function on_error_;
  py::function on_full_;
  LineThread thread_;  // last: it uses the others
};

// The destructor's wait for the thread must not keep the GIL from the thread.
struct CloseFirst {
  void operator()(LiveLines* lines) const {
    lines->close();
    delete lines;
  }
};

}  // namespace

void bind_live(py::module_& module) {
  py::class_<LiveLines, std::unique_ptr<LiveLines, CloseFirst>>(module, "LiveLines")
      .def(py::init<std::vector<int>, int, py::object, py::function, py::function,
                    std::pair<int, std::int64_t>, py::function>(),
           py::arg("files"), py::arg("rows"), py::arg("judge"), py::arg("on_finding"),
           py::arg("on_error"), py::arg("spool"), py::arg("on_full"))
      .def("put", &LiveLines::put, py::arg("record"), py::arg("has_rows") = true)
      .def("drain", &LiveLines::drain)
      .def("close", &LiveLines::close);
}

}  // namespace hybridscope
