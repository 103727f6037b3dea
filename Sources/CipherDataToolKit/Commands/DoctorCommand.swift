import ArgumentParser
import Foundation
import SQLCipherStore

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
      advice == 0 ? "Nothing to do." : "\(advice) recommendation\(advice == 1 ? "" : "s"); see the lines marked ! or ✗.")
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
