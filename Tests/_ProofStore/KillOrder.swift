// KillOrder: what the processes of one round do to a store, when they are killed, and what they tell of it.
package import Foundation

/// What one process does, step by step, until it is killed or done.
package enum KillRole: String, Codable, CaseIterable, Sendable {
  /// Saves of every kind, with large values among them; the store stays open.
  case save
  /// Batch requests.
  case batch
  /// The same as `save`, with the store opened for each step.
  case visit
  /// Changes of a passphrase.
  case passphrase
  /// New data keys.
  case rotate
  case compact
  case backUp
  /// Opens the store with the newer model, and saves.
  case migrate
  /// Deletes what is old in the history, and saves.
  case purge
  /// The commands of the tool that write into a store, and those that copy it.
  case tool
  /// The tool's changes of keys.
  case toolKeys
  /// The tool's migration.
  case toolMigrate
  /// The tool switches the history on and off, and shortens it.
  case toolHistory
  /// The tool puts one of two stores in the place of the store.
  case toolReplace
  /// The tool removes the store, makes it of a plain copy, replaces it, and makes a plain copy of it.
  case toolRemove
  /// Looks what stands in the place of the store.
  case look
}

/// When a process is killed.
package enum KillBlow: Codable, Sendable {
  /// In its n-th call of a kind: instead of it, or halfway through.
  case call(FaultCall, Int, isHalfway: Bool)
  /// So many microseconds after all have begun.
  case after(UInt32)
}

/// One process of a round.
package struct KillOrder: Codable, Sendable {
  /// Its number in the round: its objects' titles begin with it.
  package var number: Int
  package var role: KillRole
  package var seed: UInt64
  package var steps: Int
  /// nil for one that comes through.
  package var blow: KillBlow?

  package init(number: Int, role: KillRole, seed: UInt64, steps: Int, blow: KillBlow?) {
    (self.number, self.role, self.seed, self.steps, self.blow) = (number, role, seed, steps, blow)
  }
}

/// The processes that work on one store at the same time.
package struct KillRound: Codable, Sendable {
  /// The folder that has the store, the folder `journal`, and whatever copies are made.
  package var folder: URL
  package var settings: ProofSettings
  package var orders: [KillOrder]

  package init(folder: URL, settings: ProofSettings, orders: [KillOrder]) {
    (self.folder, self.settings, self.orders) = (folder, settings, orders)
  }

  /// The stores that are put in the place of the store, and a plain copy of the first.
  package static let sources = ["a", "b"]
  package static let plainSource = "plain"
  package static let filmsOfSource = 12
  package func source(_ name: String) -> URL { storeFolder.appendingPathComponent(name) }
  /// The newer model, for the tool.
  package var newerModel: URL { folder.appendingPathComponent("journal/newer.xcdatamodel") }

  package var storeFolder: URL { folder.appendingPathComponent("store", isDirectory: true) }
  package var store: URL { storeFolder.appendingPathComponent("proof.store") }
  /// The line of a process of this number about each of its steps.
  package func journal(_ number: Int) -> URL { folder.appendingPathComponent("journal/\(number)") }
  /// What a tool process printed.
  package func output(_ number: Int) -> URL { folder.appendingPathComponent("journal/\(number).output") }
}

/// How a process ended.
package struct KillEnd: Codable, Sendable {
  package var number: Int
  /// The signal, 0 where it ended by itself.
  package var signal: Int32
  package var status: Int32

  package init(number: Int, signal: Int32, status: Int32) { (self.number, self.signal, self.status) = (number, signal, status) }
}

/// A copy of a store, beside it.
package struct KillCopy: Codable, Sendable {
  package enum Kind: String, Codable, Sendable {
    /// With the store's keys.
    case sameKeys
    /// With the passphrase of the tool.
    case toolKey
    case plain
  }

  package var name: String
  package var kind = Kind.sameKeys

  package init(_ name: String, _ kind: Kind = .sameKeys) { (self.name, self.kind) = (name, kind) }
}

/// What one step changes, once it is done.
package struct KillStep: Codable, Sendable {
  package var name: String
  /// What is read of a process's films afterwards, by title: nil of one that is gone.
  package var films: [String: String?] = [:]
  /// The passphrase that unlocks from then on, and the one that no longer does.
  package var passphrase: String?
  package var formerPassphrase: String?
  /// A copy that is whole then.
  package var copy: KillCopy?
  /// Whether there may be no store then, or only a part of one until it is done.
  package var removes = false
  /// Whether the store has the newer model then.
  package var migrates = false

  package init(_ name: String) { self.name = name }
}

/// A line of a process's journal.
package enum KillLine: Codable, Sendable {
  case begun(KillStep)
  /// The step before is acknowledged.
  case done
  /// The step before met with somebody else, and has changed nothing.
  case refused(String)
  /// What should not have happened.
  case failed(String)
}
