import Foundation

/// Checks of where the memory of a process with an open store can be exposed: swap, core dumps, and other processes.
package enum MemoryExamination {
  private static let area = "memory"

  /// Returns the finding about swap.
  ///
  /// - Parameters:
  ///   - list: The contents of `/proc/swaps`.
  ///   - isEncrypted: Returns whether a device is encrypted.
  package static func swap(_ list: String, isEncrypted: (String) -> Bool) -> Finding {
    let places = list.split(separator: "\n").dropFirst().compactMap { $0.split(whereSeparator: \.isWhitespace).first.map(String.init) }
    if places.isEmpty { return Finding(area, "swap", "none") }
    let open = places.filter { !$0.contains("/zram") && !isEncrypted($0) }
    if open.isEmpty { return Finding(area, "swap", places.joined(separator: ", ") + " (in memory or encrypted)") }
    return Finding(
      area, "swap", open.joined(separator: ", "), .advice,
      "Keys are never written to it, but values that an application has read can be, in plaintext. Encrypt it (crypttab, option swap), or use zram."
    )
  }

  /// Returns whether a swap device is encrypted, according to its name in the device mapper.
  static func isEncrypted(_ device: String) -> Bool {
    let name = URL(fileURLWithPath: device).resolvingSymlinksInPath().lastPathComponent
    return (try? String(contentsOfFile: "/sys/block/\(name)/dm/uuid", encoding: .utf8))?.hasPrefix("CRYPT-") ?? false
  }

  /// Returns the finding about core dumps.
  ///
  /// - Parameters:
  ///   - limit: The maximum size of a core dump in bytes.
  ///   - pattern: The system's core pattern.
  package static func coreDumps(limit: UInt64, pattern: String) -> Finding {
    // A program that receives core dumps gets them regardless of the limit, unless the limit is 1.
    let isTaken = pattern.hasPrefix("|")
    if limit == 0, !isTaken { return Finding(area, "core dumps", "off") }
    let size = limit == 0 ? "written by a program" : limit > 1 << 50 ? "of any size" : "up to \(InfoText.bytes(Int(clamping: limit)))"
    return Finding(
      area, "core dumps", "\(size) (\(pattern))", .advice,
      "Keys are excluded from them, but values that an application has read are not. Disable them: `ulimit -c 0`, or LimitCORE=0 in the unit"
        + (isTaken ? ", and Storage=none in coredump.conf." : "."))
  }

  /// Returns the finding about the limit of locked memory.
  package static func lockedMemory(limit: UInt64) -> Finding {
    let text = limit > 1 << 50 ? "no limit" : InfoText.bytes(Int(clamping: limit))
    if limit < 64 << 10 {
      return Finding(
        area, "locked memory", text, .advice, "Keys can be swapped: allow at least 64 KiB (`ulimit -l`, LimitMEMLOCK= in the unit).")
    }
    return Finding(area, "locked memory", text)
  }

  /// Returns the finding about processes that can read the memory of another process.
  ///
  /// - Parameter scope: The contents of `/proc/sys/kernel/yama/ptrace_scope`; `nil` if the file does not exist.
  package static func debuggers(scope: String?) -> Finding {
    switch scope {
    case "1", "2", "3": Finding(area, "debuggers", "restricted (ptrace_scope \(scope ?? ""))")
    default:
      Finding(
        area, "debuggers", "every program of the same user", .note,
        "Programs of the same user can read the memory of a process with an open store. sysctl kernel.yama.ptrace_scope=1 prevents this.")
    }
  }
}
