// UndoManager: Foundation's undo manager, which Linux lacks, over that of this library.
import Dispatch
public import Foundation
package import ObjectContext

/// What was done, in groups that can be undone and redone: the class that Foundation has on Apple's systems.
///
/// As a context's ``NSManagedObjectContext/undoManager`` it records what is changed there by itself. A context's event ends the group of the event; without a context it ends when the main thread
/// is done with what it does, and on other threads with the next ``undo()``.
///
/// What raises on Apple's systems, such as the end of a group that was not begun, does nothing here and is told by ``NSManagedObjectContext/pendingError``, or by ``lastError`` where there is
/// no context.
open class UndoManager: NSObject {
  package let manager: ContextUndoManager
  private var waitsForEnd = false
  /// What went wrong where nothing could be thrown, last.
  public private(set) var lastError: (any Error)?
  /// The modes of the run loop in which events end. They are kept and not heeded: events end in any.
  open var runLoopModes: [RunLoop.Mode] = [.default]

  /// A manager that nothing was registered with.
  public override init() { manager = ContextUndoManager() }

  package init(_ manager: ContextUndoManager) { self.manager = manager }

  // MARK: Groups

  /// Begins a group: what is registered until ``endUndoGrouping()`` is undone together.
  open func beginUndoGrouping() {
    post(.NSUndoManagerCheckpoint)
    manager.beginUndoGrouping()
    post(.NSUndoManagerDidOpenUndoGroup)
  }

  /// Ends the group that was begun last.
  open func endUndoGrouping() {
    post(.NSUndoManagerCheckpoint)
    post(.NSUndoManagerWillCloseUndoGroup)
    telling { try manager.endUndoGrouping() }
    post(.NSUndoManagerDidCloseUndoGroup)
  }

  /// How many groups are open.
  open var groupingLevel: Int { manager.groupingLevel }

  /// Whether what is registered outside of groups is a group for each event.
  open var groupsByEvent: Bool {
    get { manager.groupsByEvent }
    set { manager.groupsByEvent = newValue }
  }

  /// How many groups are kept; any number when it is 0.
  open var levelsOfUndo: Int {
    get { manager.levelsOfUndo }
    set { manager.levelsOfUndo = max(0, newValue) }
  }

  // MARK: Registering

  /// Registers nothing until ``enableUndoRegistration()`` was called as often.
  open func disableUndoRegistration() { manager.disableUndoRegistration() }

  /// Registers again.
  open func enableUndoRegistration() { telling { try manager.enableUndoRegistration() } }

  /// Whether what is done is registered.
  open var isUndoRegistrationEnabled: Bool { manager.isUndoRegistrationEnabled }

  /// Registers what undoes something.
  ///
  /// - Parameters:
  ///   - target: What the handler changes. It is not held.
  ///   - handler: Changes it back. What it registers is redone.
  public func registerUndo<TargetType: AnyObject>(withTarget target: TargetType, handler: @escaping (TargetType) -> Void) {
    manager.registerUndo(withTarget: target, handler: handler)
    endEventSoon()
  }

  /// Without a context nobody ends the event.
  private func endEventSoon() {
    guard manager.hasNoContext, Thread.isMainThread, !waitsForEnd else { return }
    waitsForEnd = true
    let lent = Lent(value: self)
    DispatchQueue.main.async {
      lent.value.waitsForEnd = false
      lent.value.manager.closeEventGroup()
    }
  }

  /// Forgets all.
  open func removeAllActions() { manager.removeAllActions() }

  /// Forgets what was registered with a target.
  open func removeAllActions(withTarget target: Any) { manager.removeAllActions(withTarget: target as AnyObject) }

  // MARK: Undoing

  /// Undoes the last group.
  open func undo() {
    post(.NSUndoManagerCheckpoint)
    post(.NSUndoManagerWillUndoChange)
    telling { try manager.undo() }
    post(.NSUndoManagerDidUndoChange)
  }

  /// Makes again what was undone last.
  open func redo() {
    post(.NSUndoManagerCheckpoint)
    post(.NSUndoManagerWillRedoChange)
    telling { try manager.redo() }
    post(.NSUndoManagerDidRedoChange)
  }

  /// Undoes the last group within the open one.
  open func undoNestedGroup() { telling { try manager.undoNestedGroup() } }

  /// Whether there is something to undo.
  open var canUndo: Bool { manager.canUndo }
  /// Whether there is something to redo.
  open var canRedo: Bool { manager.canRedo }
  /// Whether something is being undone.
  open var isUndoing: Bool { manager.isUndoing }
  /// Whether something is being redone.
  open var isRedoing: Bool { manager.isRedoing }

  // MARK: Names

  /// Names the outermost open group, or, where none is open, the one that was closed last.
  open func setActionName(_ actionName: String) { manager.setActionName(actionName) }
  /// The name of what ``undo()`` takes back.
  open var undoActionName: String { manager.undoActionName }
  /// The name of what ``redo()`` makes again.
  open var redoActionName: String { manager.redoActionName }
  /// What a menu says: “Undo” with the name.
  open var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }
  /// What a menu says: “Redo” with the name.
  open var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }
  /// What a menu says of an action that can be undone.
  open func undoMenuTitle(forUndoActionName actionName: String) -> String { actionName.isEmpty ? "Undo" : "Undo \(actionName)" }
  /// What a menu says of an action that can be made again.
  open func redoMenuTitle(forUndoActionName actionName: String) -> String { actionName.isEmpty ? "Redo" : "Redo \(actionName)" }

  // MARK: Steps

  private func telling(_ work: () throws -> Void) {
    do { try work() } catch {
      if !manager.recordInContext(error) { lastError = CoreDataError.make(error) }
    }
  }

  private func post(_ name: Notification.Name) { NotificationCenter.default.post(name: name, object: self) }
}

extension NSNotification.Name {
  /// Posted before a manager does something that others may want to be ready for.
  public static let NSUndoManagerCheckpoint = NSNotification.Name("NSUndoManagerCheckpointNotification")
  /// Posted before something is undone.
  public static let NSUndoManagerWillUndoChange = NSNotification.Name("NSUndoManagerWillUndoChangeNotification")
  /// Posted before something is made again.
  public static let NSUndoManagerWillRedoChange = NSNotification.Name("NSUndoManagerWillRedoChangeNotification")
  /// Posted after something was undone.
  public static let NSUndoManagerDidUndoChange = NSNotification.Name("NSUndoManagerDidUndoChangeNotification")
  /// Posted after something was made again.
  public static let NSUndoManagerDidRedoChange = NSNotification.Name("NSUndoManagerDidRedoChangeNotification")
  /// Posted after a group was begun.
  public static let NSUndoManagerDidOpenUndoGroup = NSNotification.Name("NSUndoManagerDidOpenUndoGroupNotification")
  /// Posted before a group is ended.
  public static let NSUndoManagerWillCloseUndoGroup = NSNotification.Name("NSUndoManagerWillCloseUndoGroupNotification")
  /// Posted after a group was ended.
  public static let NSUndoManagerDidCloseUndoGroup = NSNotification.Name("NSUndoManagerDidCloseUndoGroupNotification")
}
