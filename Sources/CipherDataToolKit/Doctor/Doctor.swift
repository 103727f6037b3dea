// Doctor: the examinations in their order.
import CipherData
import Foundation
package import SQLCipherStore

/// Checks of the machine and of a store's environment.
package enum Doctor {
  /// Returns the findings about the libraries.
  package static func library(_ information: LibraryInformation) -> [Finding] {
    let area = "library"
    var result = [Finding(area, "cipherdata", Tool.version)]
    if let problem = information.problem {
      return result + [
        Finding(area, "SQLCipher", "does not work", .failure, problem.prefix(1).uppercased() + problem.dropFirst() + ".")
      ]
    }
    let isOld = information.sqlcipher.hasPrefix("3.")
    result.append(
      isOld
        ? Finding(
          area, "SQLCipher", information.sqlcipher, .note,
          "This is the version of 2016 that Debian 12 provides. It works, but do not open stores with keys from untrusted sources with it.")
        : Finding(area, "SQLCipher", information.sqlcipher))
    result.append(Finding(area, "SQLite", information.sqlite))
    if !information.provider.isEmpty { result.append(Finding(area, "provider", information.provider)) }
    result.append(Finding(area, "libcrypto", information.libcrypto))
    return result
  }

  /// Returns the findings about the machine and the folder that contains or would contain a store.
  static func machine(folder: String) -> [Finding] {
    var result: [Finding] = []
    let path = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
    if let mount = text("/proc/self/mountinfo").flatMap({ Mount.of(path, in: $0) }) { result += DiskExamination.findings(mount) }
    result.append(
      DiskExamination.finding(
        ofSync: DiskExamination.timeOfSync(in: path), preloaded: ProcessInfo.processInfo.environment["LD_PRELOAD"] ?? ""))
    if let swaps = text("/proc/swaps") {
      result.append(MemoryExamination.swap(swaps, isEncrypted: MemoryExamination.isEncrypted))
    }
    let pattern = text("/proc/sys/kernel/core_pattern")?.split(separator: "\n").first.map(String.init) ?? "core"
    result.append(MemoryExamination.coreDumps(limit: limit(.core), pattern: pattern))
    result.append(MemoryExamination.lockedMemory(limit: limit(.lockedMemory)))
    if FileManager.default.fileExists(atPath: "/proc/self") {
      let scope = text("/proc/sys/kernel/yama/ptrace_scope")?.trimmingCharacters(in: .whitespacesAndNewlines)
      result.append(MemoryExamination.debuggers(scope: scope))
    }
    return result
  }

  /// Returns the findings about an unlocked store: the settings of its connections and the statistics of its pages.
  static func store(_ file: SQLCipherStoreFile) async throws -> [Finding] {
    let area = "store"
    let information = try await file.information()
    var result = [Finding(area, "encryption", "\(information.encryption)")]
    for (name, value) in try await file.settings() {
      let isAlone = name == "journal_mode" && value == "delete"
      result.append(
        isAlone ? Finding(area, name, value, .note, "Opening it for writing switches it to a log (wal) again.") : Finding(area, name, value)
      )
    }
    let free = information.pageCount == 0 ? 0 : information.freePageCount * 100 / information.pageCount
    let space = "\(InfoText.bytes(information.fileSize)), \(free) % unused"
    result.append(
      free >= 25
        ? Finding(area, "space", space, .note, "`cipherdata compact` releases unused pages.") : Finding(area, "space", space))
    if information.logSize > max(64 << 20, information.fileSize) {
      result.append(
        Finding(
          area, "log", InfoText.bytes(information.logSize), .advice,
          "It has grown past the store: a process holds an old snapshot of it (an application's query generation), or was killed while reading."
        )
      )
    }
    if information.keySlots.count == 1, information.keySlots[0].kind == .passphrase {
      result.append(
        Finding(
          area, "keys", "one passphrase", .note, "If it is forgotten, the store is lost: `cipherdata key recovery` adds a recovery key."
        ))
    } else {
      result.append(Finding(area, "keys", "\(information.keySlots.count)"))
    }
    for finding in try await file.findings(.quick) {
      result.append(
        Finding(
          area, finding.kind == .damage ? "damage" : "left over", finding.description, finding.kind == .damage ? .failure : .note,
          finding.kind == .damage ? "Run `cipherdata verify`, and restore a backup." : "`cipherdata verify --sweep` removes it."))
    }
    return result
  }

  private enum Resource { case core, lockedMemory }

  private static func limit(_ resource: Resource) -> UInt64 {
    var limit = rlimit()
    #if os(Linux)
      let code =
        switch resource {
        case .core: getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        case .lockedMemory: getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
        }
    #else
      let code = getrlimit(resource == .core ? RLIMIT_CORE : RLIMIT_MEMLOCK, &limit)
    #endif
    return code == 0 ? UInt64(limit.rlim_cur) : 0
  }

  /// Returns the contents of a small system file; `nil` if it does not exist.
  private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
