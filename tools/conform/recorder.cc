#include "tools/conform/recorder.h"

#include <string_view>

#include "sightline/error.h"

namespace sightline::conform {
namespace {

constexpr std::string_view kNotSupported = "not supported: ";

}  // namespace

void Recorder::run(const std::string& name, const std::function<void()>& body) {
  if (!wanted(name)) return;
  if (options_.list) {
    ++listed_;
    out_ << name << '\n';
    return;
  }
  try {
    body();
    pass(name);
  } catch (const Skipped& reason) {
    skip(name, reason.what());
  } catch (const UnsupportedModel& reason) {
    skip(name, reason.what());
  } catch (const BadArgument& error) {
    const std::string_view message = error.what();
    if (message.starts_with(kNotSupported)) {
      skip(name, std::string(message));
    } else {
      fail(name, std::string("unexpected BadArgument: ") + error.what());
    }
  } catch (const Mismatch& mismatch) {
    fail(name, mismatch.what());
  } catch (const std::exception& error) {
    fail(name, std::string("unexpected error: ") + error.what());
  }
}

void Recorder::pass(const std::string& name) {
  ++passed_;
  if (options_.verbose) out_ << "passed  " << name << '\n';
}

void Recorder::fail(const std::string& name, const std::string& message) {
  ++failed_;
  out_ << "FAILED  " << name << ": " << message << std::endl;
}

void Recorder::skip(const std::string& name, const std::string& reason) {
  ++skipped_;
  if (options_.verbose) out_ << "skipped " << name << ": " << reason << '\n';
  names_by_reason_[reason].push_back(name);
}

bool Recorder::finish() {
  if (options_.list) {
    out_ << listed_ << " cases\n";
    return true;
  }
  if (!options_.verbose) {
    for (const auto& [reason, names] : names_by_reason_) {
      out_ << "skipped " << names.size() << ": " << reason << ':';
      for (const std::string& name : names) out_ << ' ' << name;
      out_ << '\n';
    }
  }
  out_ << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped" << std::endl;
  return failed_ == 0;
}

}  // namespace sightline::conform
