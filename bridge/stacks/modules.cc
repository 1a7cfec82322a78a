#include "stacks/modules.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"

namespace stacks {
namespace {

constexpr std::size_t kFramesMax = 64;

char* debuginfo_path = nullptr;  // libdw's own default
const Dwfl_Callbacks kCallbacks = {
    .find_elf = ::dwfl_linux_proc_find_elf,
    .find_debuginfo = ::dwfl_standard_find_debuginfo,
    .section_address = nullptr,
    .debuginfo_path = &debuginfo_path,
};

struct Search {
  const std::vector<std::string_view>& names;
  std::unordered_map<std::string_view, Address>& found;
};

int search_module(Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* argument) {
  const Search& search = *static_cast<Search*>(argument);
  const int count = ::dwfl_module_getsymtab(module);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name =
        ::dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
    for (const std::string_view wanted : search.names) {
      if (wanted == name) search.found.emplace(wanted, address);
    }
  }
  return search.found.size() == search.names.size() ? DWARF_CB_ABORT : DWARF_CB_OK;
}

std::string readable(const char* name) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string text = demangled == nullptr ? name : demangled;
  std::free(demangled);
  return text;
}

struct Walk {
  Dwfl* dwfl;
  std::vector<std::string> frames{};
};

std::string frame_text(Dwfl* dwfl, Dwarf_Addr pc) {
  Dwfl_Module* module = ::dwfl_addrmodule(dwfl, pc);
  if (module == nullptr) return fmt::format("{:#x}", pc);
  const char* file =
      ::dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name =
      ::dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr);
  const std::string function = name == nullptr ? fmt::format("{:#x}", pc) : readable(name);
  int line = 0;
  Dwfl_Line* place = ::dwfl_module_getsrc(module, pc);
  const char* source = place == nullptr
                           ? nullptr
                           : ::dwfl_lineinfo(place, nullptr, &line, nullptr, nullptr, nullptr);
  if (source != nullptr) return fmt::format("{} ({}:{})", function, source, line);
  return fmt::format("{} ({})", function, file == nullptr ? "?" : file);
}

int take_frame(Dwfl_Frame* frame, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  Dwarf_Addr pc = 0;
  bool innermost = false;
  if (!::dwfl_frame_pc(frame, &pc, &innermost)) return DWARF_CB_ABORT;
  // The stack holds the address that a call returns to: the call itself is before it.
  walk.frames.push_back(frame_text(walk.dwfl, innermost ? pc : pc - 1));
  return walk.frames.size() < kFramesMax ? DWARF_CB_OK : DWARF_CB_ABORT;
}

base::Error dwfl_error(const std::string& what) {
  const char* why = ::dwfl_errmsg(-1);
  return {what + ": " + (why == nullptr ? "no reason given" : why)};
}

}  // namespace

base::Result<Modules> Modules::of(pid_t pid, const std::vector<std::string_view>& names) {
  Modules modules(::dwfl_begin(&kCallbacks));
  Dwfl* dwfl = modules.dwfl_.get();
  if (dwfl == nullptr) return dwfl_error("cannot begin to read modules");
  const int error_number = ::dwfl_linux_proc_report(dwfl, pid);
  if (error_number > 0) return base::errno_error("cannot read its mappings", error_number);
  if (error_number < 0 || ::dwfl_report_end(dwfl, nullptr, nullptr) != 0) {
    return dwfl_error("cannot read its mappings");
  }
  Search search{names, modules.symbols_};
  ::dwfl_getmodules(dwfl, search_module, &search, 0);
  return modules;
}

std::optional<Address> Modules::symbol(std::string_view name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Modules::frames(pid_t pid) const {
  constexpr bool kIsStopped = true;
  Walk walk{dwfl_.get()};
  if (::dwfl_linux_proc_attach(dwfl_.get(), pid, kIsStopped) == 0) {
    ::dwfl_getthread_frames(dwfl_.get(), pid, take_frame, &walk);
  }
  return std::move(walk.frames);
}

}  // namespace stacks
