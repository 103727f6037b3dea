import Dispatch
public import Foundation
package import ObjectContext

/// A manager of groups of actions that can be undone and redone, equivalent to Foundation's class on Apple's systems.
///
/// A context's ``NSManagedObjectContext/undoManager`` records the context's changes automatically. The end of a context's event closes the
/// event's group. Without a context, the group closes at the end of the main thread's current event, and on other threads with the next
/// ``undo()``.
///
/// Where Foundation raises an exception, such as for ending a group that was not begun, this class does nothing and records the error in
/// ``NSManagedObjectContext/pendingError``, or in ``lastError`` if there is no context.
open class UndoManager: NSObject {
  package let manager: ContextUndoManager
  private var isEventEndScheduled = false
  /// The last error that could not be thrown.
  public private(set) var lastError: (any Error)?
  /// The run loop modes in which events end. The value is stored but ignored: events end in any mode.
  open var runLoopModes: [RunLoop.Mode] = [.default]

  /// Creates a manager without registered actions.
  public override init() { manager = ContextUndoManager() }

  package init(_ manager: ContextUndoManager) { self.manager = manager }

  // MARK: Groups

  /// Begins a group. Actions registered until ``endUndoGrouping()`` are undone together.
  open func beginUndoGrouping() {
    post(.NSUndoManagerCheckpoint)
    manager.beginUndoGrouping()
    post(.NSUndoManagerDidOpenUndoGroup)
  }

  /// Ends the innermost open group.
  open func endUndoGrouping() {
    post(.NSUndoManagerCheckpoint)
    post(.NSUndoManagerWillCloseUndoGroup)
    reportingErrors { try manager.endUndoGrouping() }
    post(.NSUndoManagerDidCloseUndoGroup)
  }

  /// The number of open groups.
  open var groupingLevel: Int { manager.groupingLevel }

  /// Whether each event groups the actions registered outside of explicit groups.
  open var groupsByEvent: Bool {
    get { manager.groupsByEvent }
    set { manager.groupsByEvent = newValue }
  }

  /// The maximum number of groups kept; 0 for no limit.
  open var levelsOfUndo: Int {
    get { manager.levelsOfUndo }
    set { manager.levelsOfUndo = max(0, newValue) }
  }

  // MARK: Registering

  /// Disables registration until ``enableUndoRegistration()`` has been called the same number of times.
  open func disableUndoRegistration() { manager.disableUndoRegistration() }

  /// Enables registration again.
  open func enableUndoRegistration() { reportingErrors { try manager.enableUndoRegistration() } }

  /// Whether actions are registered.
  open var isUndoRegistrationEnabled: Bool { manager.isUndoRegistrationEnabled }

  /// Registers an action that undoes a change.
  ///
  /// - Parameters:
  ///   - target: The object that the handler changes. It is not retained.
  ///   - handler: A closure that reverts the change. Actions that it registers become redo actions.
  public func registerUndo<TargetType: AnyObject>(withTarget target: TargetType, handler: @escaping (TargetType) -> Void) {
    manager.registerUndo(withTarget: target, handler: handler)
    scheduleEventEnd()
  }

  /// Without a context, the manager itself has to end the event.
  private func scheduleEventEnd() {
    guard manager.hasNoContext, Thread.isMainThread, !isEventEndScheduled else { return }
    isEventEndScheduled = true
    let boxed = SendableBox(value: self)
    DispatchQueue.main.async {
      boxed.value.isEventEndScheduled = false
      boxed.value.manager.closeEventGroup()
    }
  }

  /// Removes all actions.
  open func removeAllActions() { manager.removeAllActions() }

  /// Removes all actions registered with a target.
  open func removeAllActions(withTarget target: Any) { manager.removeAllActions(withTarget: target as AnyObject) }

  // MARK: Undoing

  /// Undoes the last group.
  open func undo() {
    post(.NSUndoManagerCheckpoint)
    post(.NSUndoManagerWillUndoChange)
    reportingErrors { try manager.undo() }
    post(.NSUndoManagerDidUndoChange)
  }

  /// Redoes the group that was undone last.
  open func redo() {
    post(.NSUndoManagerCheckpoint)
    post(.NSUndoManagerWillRedoChange)
    reportingErrors { try manager.redo() }
    post(.NSUndoManagerDidRedoChange)
  }

  /// Undoes the last nested group.
  open func undoNestedGroup() { reportingErrors { try manager.undoNestedGroup() } }

  /// Whether there is a group to undo.
  open var canUndo: Bool { manager.canUndo }
  /// Whether there is a group to redo.
  open var canRedo: Bool { manager.canRedo }
  /// Whether an undo is in progress.
  open var isUndoing: Bool { manager.isUndoing }
  /// Whether a redo is in progress.
  open var isRedoing: Bool { manager.isRedoing }

  // MARK: Names

  /// Sets the name of the outermost open group, or of the last closed group if none is open.
  open func setActionName(_ actionName: String) { manager.setActionName(actionName) }
  /// The name of the action that ``undo()`` reverts.
  open var undoActionName: String { manager.undoActionName }
  /// The name of the action that ``redo()`` repeats.
  open var redoActionName: String { manager.redoActionName }
  /// The menu title for the undo action: “Undo” followed by its name.
  open var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }
  /// The menu title for the redo action: “Redo” followed by its name.
  open var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }
  /// Returns the menu title for undoing an action.
  open func undoMenuTitle(forUndoActionName actionName: String) -> String { actionName.isEmpty ? "Undo" : "Undo \(actionName)" }
  /// Returns the menu title for redoing an action.
  open func redoMenuTitle(forUndoActionName actionName: String) -> String { actionName.isEmpty ? "Redo" : "Redo \(actionName)" }

  // MARK: Steps

  private func reportingErrors(_ work: () throws -> Void) {
    do { try work() } catch {
      if !manager.recordInContext(error) { lastError = CoreDataError.make(error) }
    }
  }

  private func post(_ name: Notification.Name) { NotificationCenter.default.post(name: name, object: self) }
}

extension NSNotification.Name {
  /// Posted before a manager opens or closes a group, undoes or redoes.
  public static let NSUndoManagerCheckpoint = NSNotification.Name("NSUndoManagerCheckpointNotification")
  /// Posted before an undo.
  public static let NSUndoManagerWillUndoChange = NSNotification.Name("NSUndoManagerWillUndoChangeNotification")
  /// Posted before a redo.
  public static let NSUndoManagerWillRedoChange = NSNotification.Name("NSUndoManagerWillRedoChangeNotification")
  /// Posted after an undo.
  public static let NSUndoManagerDidUndoChange = NSNotification.Name("NSUndoManagerDidUndoChangeNotification")
  /// Posted after a redo.
  public static let NSUndoManagerDidRedoChange = NSNotification.Name("NSUndoManagerDidRedoChangeNotification")
  /// Posted after a group was opened.
  public static let NSUndoManagerDidOpenUndoGroup = NSNotification.Name("NSUndoManagerDidOpenUndoGroupNotification")
  /// Posted before a group is closed.
  public static let NSUndoManagerWillCloseUndoGroup = NSNotification.Name("NSUndoManagerWillCloseUndoGroupNotification")
  /// Posted after a group was closed.
  public static let NSUndoManagerDidCloseUndoGroup = NSNotification.Name("NSUndoManagerDidCloseUndoGroupNotification")
}
