import ArgumentParser
import CipherData
import Foundation
import StoreFiles

extension Tool {
  /// Parses the arguments, runs the command, and writes an error as one line to standard error.
  ///
  /// - Parameter arguments: The arguments without the program's name.
  /// - Returns: The exit status.
  package static func run(_ arguments: [String]) async -> Int32 {
    do {
      if let objection = CommandNames.objection(to: arguments, of: CipherDataCommand.self) { throw ToolError(.usage, objection) }
      var command = try CipherDataCommand.parseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
      return ExitStatus.success.rawValue
    } catch let code as ExitCode {
      return code.rawValue
    } catch let error where isOfParser(error) {
      let status = CipherDataCommand.exitCode(for: error)
      let message = CipherDataCommand.fullMessage(for: error)
      print(message, to: status == .success ? STDOUT_FILENO : STDERR_FILENO)
      return status == .success ? 0 : ExitStatus.usage.rawValue
    } catch {
      let exitReport = ExitReport(error)
      print("cipherdata: \(exitReport.message)", to: STDERR_FILENO)
      return exitReport.status.rawValue
    }
  }

  /// Parses arguments without running a command.
  ///
  /// - Returns: The help text or the message about invalid arguments; `nil` if the arguments name a command.
  package static func objection(to arguments: [String]) -> String? {
    do {
      _ = try CipherDataCommand.parseAsRoot(arguments)
      return nil
    } catch { return CipherDataCommand.fullMessage(for: error) }
  }

  /// Checks the limit of open files, and reports a limit that is too low on standard error.
  ///
  /// - Returns: The exit status if the process cannot open enough files; otherwise `nil`.
  package static func statusWithoutResources() -> Int32? {
    do throws(StoreAccessError) {
      try Descriptors.check(path: nil)
      return nil
    } catch {
      let exitReport = ExitReport(error)
      print("cipherdata: \(exitReport.message)", to: STDERR_FILENO)
      return exitReport.status.rawValue
    }
  }
}

/// `cipherdata`.
struct CipherDataCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cipherdata",
    abstract: "Create, fill, and query encrypted object graph stores.",
    discussion: """
      A store is a SQLCipher database that contains its model; its keys are in a separate file (STORE.keys). The passphrase comes from \
      --passphrase-file, from the variable CIPHERDATA_PASSPHRASE, or from a prompt; never from an argument.

      \(ExitStatus.overview)
      """,
    version: Tool.version,
    subcommands: [
      CreateCommand.self, ImportCommand.self, FetchCommand.self, UpdateCommand.self, DeleteCommand.self, ShellCommand.self,
      HistoryCommand.self, WatchCommand.self, FollowCommand.self, InfoCommand.self, ReportCommand.self, DoctorCommand.self, KeyCommand.self,
      StableIDsCommand.self, VerifyCommand.self, SyncCommand.self,
      BackupCommand.self, CompactCommand.self, StatisticsCommand.self, ReplaceCommand.self, DestroyCommand.self, MigrateCommand.self,
      ExportCommand.self, EncryptCommand.self, DecryptCommand.self, ModelCommand.self, GenerateCommand.self, PortSourcesCommand.self,
      DemoCommand.self,
      ManualCommand.self,
    ])
}

/// Prints the manual page. `Scripts/install` uses it to install the page.
struct ManualCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual", abstract: "Print the manual page, for man.", shouldDisplay: false)

  func run() throws {
    let sink = OutputSink()
    try sink.write(Array(Tool.manualPage().utf8))
    try sink.flush()
  }
}

extension Tool {
  /// Returns the tree of visible commands.
  package static func commandTree() throws -> CommandTree { try CommandTree(parserHelp: CipherDataCommand._dumpHelp()) }

  /// Returns the manual page in roff.
  package static func manualPage() throws -> String { ManualPage.text(of: try commandTree(), version: version) }

  /// Returns the completion script for a shell: `bash`, `zsh`, or `fish`; `nil` for any other.
  package static func completions(for shell: String) -> String? {
    CompletionShell(rawValue: shell).map { CipherDataCommand.completionScript(for: $0) }
  }
}
