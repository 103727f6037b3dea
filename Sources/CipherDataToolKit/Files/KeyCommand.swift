import ArgumentParser
import Foundation
import ObjectModel
import CipherData
import SQLCipherStore

/// Lists, adds, removes and changes the keys of a store.
struct KeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "List, add, remove and change the keys of a store.",
    subcommands: [Change.self, Add.self, List.self, Remove.self, Recovery.self, Rotate.self])

  /// `key change`.
  struct Change: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replace the passphrase with a new one. Takes milliseconds in addition to two key derivations.")
    @OptionGroup var store: StoreOptions
    @OptionGroup var newPassphrase: NewPassphraseOptions

    func run() async throws {
      try await PassphraseOptions.check(store.store)
      let old = try store.passphrase.key(for: store.store)
      let file = try await SQLCipherStoreFile.unlock(at: .path(store.store), key: old, keyWorkLimit: store.passphrase.keyWork)
      try await file.changeKey(from: old, to: try newPassphrase.key())
      KeyCommand.printKeyWork(file)
      Tool.note("The passphrase was changed. Copies of \(file.keyFileURL.path) made before still open with the old one.")
    }
  }

  /// `key add`.
  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Add a passphrase.")
    @OptionGroup var store: StoreOptions
    @OptionGroup var newPassphrase: NewPassphraseOptions
    @Option(help: "A name for the key.") var label = ""

    func run() async throws {
      let file = try await store.unlock()
      let slot = try await file.addKey(try newPassphrase.key(), label: label)
      KeyCommand.printKeyWork(file)
      Tool.note("Added key \(KeyCommand.shortID(slot)).")
    }
  }

  /// `key list`.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the keys. Needs no passphrase.")
    @Argument(help: "The store's file.", completion: .file()) var store: String
    @Option(help: "The output format.") var format = OutputFormat.table

    func run() async throws {
      try PathCheck.checkStore(store)
      let sink = OutputSink()
      try KeyCommand.write(try SQLCipherStoreFile.keySlots(at: .path(store)), format: format, to: sink)
      try sink.flush()
    }
  }

  /// `key remove`.
  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove a key.",
      discussion: "A copy of the old key file still opens the store with the removed key until `key rotate` has run.")
    @OptionGroup var store: StoreOptions
    @Argument(help: "The key's identifier as `key list` shows it, or its first characters.") var key: String

    func run() async throws {
      let file = try await store.unlock()
      let wanted = key.lowercased()
      let slots = file.keySlots.filter { !wanted.isEmpty && $0.id.uuidString.lowercased().hasPrefix(wanted) }
      guard let slot = slots.first, slots.count == 1 else {
        throw ToolError(.usage, slots.isEmpty ? "The store has no such key; see `cipherdata key list`." : "Several keys have this prefix.")
      }
      try await file.removeKey(slot.id)
      Tool.note("Removed key \(KeyCommand.shortID(slot)).")
    }
  }

  /// `key recovery`.
  struct Recovery: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a recovery key and print it. Keep it in a safe place. It can be used wherever a passphrase can.")
    @OptionGroup var store: StoreOptions
    @Option(help: "A name for the key.") var label = "Recovery key"

    func run() async throws {
      let (text, _) = try await store.unlock().addRecoveryKey(label: label)
      let sink = OutputSink()
      try sink.line(text)
      try sink.flush()
    }
  }

  /// `key rotate`.
  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Encrypt the whole store with a new data key, so that removed keys and old key files can no longer open it.")
    @OptionGroup var store: StoreOptions

    func run() async throws {
      let file = try await store.unlock()
      let progress = SharedProgress("Encrypting")
      defer { progress.finish() }
      try await file.rotateDataKey(progress: progress.handler)
      progress.finish()
      Tool.note("The store is encrypted under a new data key.")
    }
  }

  // MARK: Printing

  /// Reports the memory and passes of a key derivation that exceeds the default limit.
  static func printKeyWork(_ file: SQLCipherStoreFile) {
    guard let work = file.requiredKeyWork else { return }
    Tool.note("The keys exceed the default limit of key derivation work. Some open the store only with --key-work \(work).")
  }

  static func shortID(_ slot: KeySlot) -> String { String(slot.id.uuidString.lowercased().prefix(8)) }

  static func json(_ slot: KeySlot) -> JSONValue {
    .object([
      ("id", .string(slot.id.uuidString.lowercased())), ("kind", .string(name(of: slot.kind))), ("label", .string(slot.label)),
      ("created", ValueCoding.json(.real(slot.created.timeIntervalSinceReferenceDate), type: .date)),
      ("derivation", slot.kdf.map { .string($0.description) } ?? .null),
    ])
  }

  private static func name(of kind: KeySlot.Kind) -> String {
    switch kind {
    case .passphrase: "passphrase"
    case .rawKey: "raw key"
    case .recovery: "recovery key"
    }
  }

  static func write(_ slots: [KeySlot], format: OutputFormat = .table, to sink: OutputSink) throws {
    let columns = ["id", "kind", "label", "created", "derivation"]
    let writer = try format.writer(columns: columns, to: sink)
    for slot in slots {
      let value = json(slot)
      try writer.write(columns.map { value[$0] ?? .null })
    }
    try writer.finish()
  }
}
