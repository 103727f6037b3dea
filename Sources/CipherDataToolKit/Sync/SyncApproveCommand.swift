import ArgumentParser
import Foundation
import SyncCrypto
import SyncEngine
import SyncHub

extension SyncCommand {
  /// `sync approve`.
  struct Approve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Admit another device to the account of the store, after comparing a code.",
      discussion: """
        Waits for a device that runs “cipherdata sync join” without a recovery key, and asks for each one whether it prints the same code. \
        The answer y admits it, and ends the command; n refuses it. The device gets the account's keys, so it can read everything that is \
        synchronized. Different codes mean that something between the devices attacks them.

        Scripts first run it with --list, which lets the new device print its code, and then pass that code with --code: exactly the device \
        with the code is admitted. Another process may synchronize the store meanwhile.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: ArgumentHelp("The code that the new device has printed. It is admitted without a question.", valueName: "code"))
    var code: String?
    @Flag(help: "Print the waiting devices with their codes, as soon as there is one, and admit none.") var list = false
    @Option(help: "The format of --list.") var format = InfoCommand.Format.text
    @OptionGroup var timeout: JoinTimeout

    func validate() throws {
      if list, code != nil { throw ValidationError("--list admits no device: give it without --code.") }
      if let code, JoinCode(parsing: code) == nil { throw ValidationError("--code takes six digits, such as 123-456.") }
    }

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock())
      try await synced.run { try await approve(synced) }
    }

    private func approve(_ synced: SyncedContainer) async throws {
      let approval = try await SyncService.joinApproval(synced.store, of: synced.coordinator)
      let deadline = ContinuousClock.now + timeout.duration
      var (isNoted, hasRefused) = (false, false)
      while true {
        let requests = try await approval.requests()
        if list {
          if !requests.isEmpty { return try write(requests) }
        } else if let code = code.flatMap(JoinCode.init(parsing:)) {
          let matching = requests.filter { $0.code == code }
          if matching.count > 1 {
            throw ToolError(.noKey, "\(matching.count) devices show the code \(code). None was admitted: begin again on the new device.")
          }
          if let request = matching.first { return try await admit(request, approval) }
        } else {
          for request in requests {
            switch try await isAdmitted(request, approval) {
            case true?: return try await admit(request, approval)
            case false?:
              try await refuse(request, approval)
              hasRefused = true
            case nil: Tool.note("“\(Self.name(of: request))” has canceled its request.")
            }
          }
          if hasRefused, try await approval.requests().isEmpty { throw ToolError(.failure, "No device was admitted.") }
        }
        if deadline < .now {
          let what = code.map { "No device with the code \($0)" } ?? "No device"
          throw ToolError(.busy, "\(what) has requested to join. On the device, run: cipherdata sync join STORE --hub HUB")
        }
        if !isNoted, requests.isEmpty {
          Tool.note("Waiting for a device. On it, run: cipherdata sync join STORE --hub HUB")
          isNoted = true
        }
        try await Task.sleep(for: Self.interval)
      }
    }

    private static let interval = Duration.milliseconds(300)

    /// Asks the user. Meanwhile, further devices are answered, so that they can print their codes.
    ///
    /// - Returns: The answer; nil if the device has canceled its request, or another one has answered it.
    private func isAdmitted(_ request: PendingJoin, _ approval: JoinApproval) async throws -> Bool? {
      try await withThrowingTaskGroup(of: Bool?.self) { group in
        group.addTask {
          try await Question.ask("“\(Self.name(of: request))” wants to join, with the code \(request.code). Does it show this code?")
        }
        group.addTask {
          repeat { try await Task.sleep(for: Self.interval) } while try await approval.requests().contains(request)
          Tool.write("\n", to: STDERR_FILENO)
          return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
      }
    }

    private func write(_ requests: [PendingJoin]) throws {
      let sink = OutputSink()
      switch format {
      case .text: for request in requests { try sink.line("\(request.code)  \(Self.name(of: request))") }
      case .json:
        let objects = requests.map { request in
          JSONValue.object([
            ("code", .string(request.code.description)), ("device", .string(request.deviceName)),
            ("expires", .string(SyncText.time(request.expiry))),
          ])
        }
        try sink.line(JSONValue.array(objects).serialized())
      }
      try sink.flush()
    }

    private func admit(_ request: PendingJoin, _ approval: JoinApproval) async throws {
      try await approval.approve(request)
      Tool.note("“\(Self.name(of: request))” was admitted to the account of \(store.store).")
    }

    private func refuse(_ request: PendingJoin, _ approval: JoinApproval) async throws {
      try await approval.refuse(request)
      Tool.note("“\(Self.name(of: request))” was refused.")
    }

    /// The name, which the other device has chosen, in one short line.
    private static func name(of request: PendingJoin) -> String { TableWriter.printable(String(request.deviceName.prefix(60))) }
  }
}
