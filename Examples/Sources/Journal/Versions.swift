import CipherData

extension JournalModel {
  /// The migration of a journal from any earlier version of the model to the current one. It runs when a journal is opened, and applies
  /// completely or not at all.
  static var migration: StagedMigrationManager {
    StagedMigrationManager(Versions.all, label: "Journal", customStages: [marksBecomePins])
  }

  /// The first version had no pins; users wrote an exclamation mark before a title instead. The models imply the new attribute, but not its
  /// values.
  private static var marksBecomePins: CustomMigrationStage {
    CustomMigrationStage(migratingFrom: Versions.journal, to: Versions.journal2, label: "marks become pins") { migration in
      try migration.forEach("Entry") { old, new in
        let marked = old["title"] as? String ?? ""
        let title = marked.drop { $0 == "!" || $0 == " " }
        guard marked.hasPrefix("!"), !title.isEmpty else { return }
        new["title"] = String(title)
        new["isPinned"] = true
      }
    }
  }
}
