// Versions: what becomes of a journal that an earlier version of the application has written.
import CipherData

extension JournalModel {
  /// The way from any earlier version of the model to the present one, which a journal goes when it is opened: the whole of it, or nothing.
  static var migration: StagedMigrationManager {
    StagedMigrationManager(Versions.all, label: "Journal", customStages: [marksBecomePins])
  }

  /// The first version had no pins: people wrote an exclamation mark before a title. That there is a pin now follows from the models; what it is to be does not.
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
