import ArgumentParser
import CipherData
import Foundation
package import SQLCipherStore

/// Checks the machine and the environment of a store.
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check the libraries, the disk, swap, core dumps, and a store's files and settings, and give advice. Changes nothing.",
    discussion: """
      Without a store, the current folder is checked. The exit status is 0, or 1 if there is advice; 69 or 74 if something does not \
      work. Notes are for information.

        cipherdata doctor
        cipherdata doctor library.store
        cipherdata doctor library.store --locked --format json
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String?
  @Flag(help: "Check only the store's files, without unlocking it.") var locked = false
  @OptionGroup var passphrase: PassphraseOptions
  @Option(help: "The output format.") var format = InfoCommand.Format.text

  func run() async throws {
    var findings = Doctor.library(try LibraryInformation())
    let works = !findings.contains { $0.grade == .failure }
    if let store {
      try PathCheck.checkStore(store)
      findings += FileExamination.findings(of: store)
      findings += Doctor.machine(folder: URL(fileURLWithPath: store).resolvingSymlinksInPath().deletingLastPathComponent().path)
      if works, !locked { findings += try await Doctor.store(passphrase.unlock(store)) }
    } else {
      findings += Doctor.machine(folder: FileManager.default.currentDirectoryPath)
    }
    let sink = OutputSink()
    switch format {
    case .json: try sink.line(JSONValue.object([("findings", .array(findings.map(\.json)))]).serialized())
    case .text: try Self.write(findings, to: sink)
    }
    try sink.flush()
    if !works { throw ExitCode(ExitStatus.unavailable.rawValue) }
    if findings.contains(where: { $0.grade == .failure }) { throw ExitCode(ExitStatus.damage.rawValue) }
    if findings.contains(where: { $0.grade == .advice }) { throw ExitCode(ExitStatus.failure.rawValue) }
  }

  private static func write(_ findings: [Finding], to sink: OutputSink) throws {
    let width = (findings.map { DisplayWidth.of($0.subject) }.max() ?? 0) + 2
    var area = ""
    for finding in findings {
      if finding.area != area {
        if !area.isEmpty { try sink.line("") }
        area = finding.area
        try sink.line(area.prefix(1).uppercased() + area.dropFirst())
      }
      let mark =
        switch finding.grade {
        case .good: " "
        case .note: "-"
        case .advice: "!"
        case .failure: "✗"
        }
      let padding = String(repeating: " ", count: max(1, width - DisplayWidth.of(finding.subject)))
      try sink.line(" \(mark) " + TableWriter.printable(finding.subject) + padding + TableWriter.printable(finding.value))
      if !finding.text.isEmpty { for line in wrapped(finding.text, width: 92) { try sink.line("     " + line) } }
    }
    let advice = findings.count { $0.grade == .advice || $0.grade == .failure }
    try sink.line("")
    try sink.line(
      advice == 0 ? "Nothing to do." : "\(CountText.text(advice, "recommendation")); see the lines marked ! or ✗.")
  }

  private static func wrapped(_ text: String, width: Int) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ") {
      let last = lines[lines.count - 1]
      if last.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}

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

/// The result of a check: its subject, the value found, and advice.
package struct Finding: Sendable, Hashable {
  /// The severity of a finding.
  package enum Grade: String, Sendable, Hashable, CaseIterable {
    case good
    /// Information that requires no action.
    case note
    /// An action is recommended.
    case advice
    /// The checked part does not work.
    case failure
  }

  package var area: String
  package var subject: String
  package var value: String
  package var grade: Grade
  /// An explanation and advice; empty if there is none.
  package var text: String

  package init(_ area: String, _ subject: String, _ value: String, _ grade: Grade = .good, _ text: String = "") {
    (self.area, self.subject, self.value, self.grade, self.text) = (area, subject, value, grade, text)
  }

  var json: JSONValue {
    .object([
      ("area", .string(area)), ("subject", .string(subject)), ("value", .string(value)), ("grade", .string(grade.rawValue)),
      ("text", text.isEmpty ? .null : .string(text)),
    ])
  }
}
