package import Foundation

/// What a process does, step by step, until it is killed or done.
package enum KillRole: String, Codable, CaseIterable, Sendable {
  /// Saves of every kind, some with large values, in a store that stays open.
  case save
  case batch
  /// The same as `save`, with the store opened for each step.
  case visit
  /// Passphrase changes.
  case passphrase
  /// Rotations of the data key.
  case rotate
  case compact
  case backUp
  /// Opens the store with the newer model, and saves.
  case migrate
  /// Purges the history, and saves.
  case purge
  /// The commands of the tool that write to a store, and those that copy it.
  case tool
  /// The tool's key changes.
  case toolKeys
  /// The tool's migration.
  case toolMigrate
  /// The tool's commands that switch the history on and off, and purge it.
  case toolHistory
  /// The tool replaces the store with one of two stores.
  case toolReplace
  /// The tool removes the store, imports it from a plaintext copy, replaces it, and exports a plaintext copy.
  case toolRemove
  /// Reads the store, and checks which of the two it is.
  case look
}

/// When a process is killed.
package enum KillBlow: Codable, Sendable {
  /// In the n-th call of a kind: instead of the call, or halfway through it.
  case call(FaultCall, Int, isHalfway: Bool)
  /// That many microseconds after all processes have started.
  case after(UInt32)
}

/// One process of a round.
package struct KillOrder: Codable, Sendable {
  /// The process's number in the round, and the prefix of its films' titles.
  package var number: Int
  package var role: KillRole
  package var seed: UInt64
  package var steps: Int
  /// When the process is killed; nil if it survives.
  package var blow: KillBlow?

  package init(number: Int, role: KillRole, seed: UInt64, steps: Int, blow: KillBlow?) {
    (self.number, self.role, self.seed, self.steps, self.blow) = (number, role, seed, steps, blow)
  }
}

/// The processes that use one store at the same time.
package struct KillRound: Codable, Sendable {
  /// The folder with the store, the folder `journal`, and all copies.
  package var folder: URL
  package var settings: ProofSettings
  package var orders: [KillOrder]

  package init(folder: URL, settings: ProofSettings, orders: [KillOrder]) {
    (self.folder, self.settings, self.orders) = (folder, settings, orders)
  }

  /// The stores that replace the store, and a plaintext copy of the first.
  package static let sources = ["a", "b"]
  package static let plainSource = "plain"
  package static let filmsOfSource = 12
  package func source(_ name: String) -> URL { storeFolder.appendingPathComponent(name) }
  /// The newer model, for the tool.
  package var newerModel: URL { folder.appendingPathComponent("journal/newer.xcdatamodel") }

  package var storeFolder: URL { folder.appendingPathComponent("store", isDirectory: true) }
  package var store: URL { storeFolder.appendingPathComponent("proof.store") }
  /// The file in which a process records its steps, one per line.
  package func journal(_ number: Int) -> URL { folder.appendingPathComponent("journal/\(number)") }
  /// The output of a tool process.
  package func output(_ number: Int) -> URL { folder.appendingPathComponent("journal/\(number).output") }
}

/// How a process ended.
package struct KillEnd: Codable, Sendable {
  package var number: Int
  /// The signal that ended the process, or 0 if it exited.
  package var signal: Int32
  package var status: Int32

  package init(number: Int, signal: Int32, status: Int32) { (self.number, self.signal, self.status) = (number, signal, status) }
}

/// A copy of a store, in the same folder.
package struct KillCopy: Codable, Sendable {
  package enum Kind: String, Codable, Sendable {
    /// With the store's keys.
    case sameKeys
    /// With the tool's passphrase.
    case toolKey
    case plain
  }

  package var name: String
  package var kind = Kind.sameKeys

  package init(_ name: String, _ kind: Kind = .sameKeys) { (self.name, self.kind) = (name, kind) }
}

/// The changes that one step makes when it completes.
package struct KillStep: Codable, Sendable {
  package var name: String
  /// The expected contents of the process's films, by title; nil for deleted ones.
  package var films: [String: String?] = [:]
  /// The passphrase that unlocks the store from now on, and the one that no longer does.
  package var passphrase: String?
  package var formerPassphrase: String?
  /// A copy that is complete from now on.
  package var copy: KillCopy?
  /// Whether the store can be missing afterwards, or incomplete during the step.
  package var removes = false
  /// Whether the step migrates the store to the newer model.
  package var migrates = false

  package init(_ name: String) { self.name = name }
}

/// A line of a process's journal.
package enum KillLine: Codable, Sendable {
  case begun(KillStep)
  /// The previous step is acknowledged.
  case done
  /// The previous step failed because of another process, and changed nothing.
  case refused(String)
  /// An unexpected error.
  case failed(String)
}
