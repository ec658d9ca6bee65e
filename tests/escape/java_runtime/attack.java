import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.*;
import java.util.List;
import java.util.stream.*;

public class Attack {
    interface Action {
        Object go() throws Exception;
    }

    static void refused(String what, Action action) {
        try {
            Object got = action.go();
            System.out.println("ESCAPED " + what + ": " + got);
        } catch (Exception error) {
            System.out.println("REFUSED " + what);
        }
    }

    static void unreadable(String what, String path) {
        refused(what, () -> {
            byte[] read = Files.readAllBytes(Path.of(path));
            if (read.length == 0)
                throw new IOException("empty");
            return read.length;
        });
    }

    static void child(String what, String... command) {
        refused(what, () -> {
            int code = new ProcessBuilder(command).start().waitFor();
            if (code != 0)
                throw new IOException("it failed");
            return code;
        });
    }

    /* A directory, or a file of the host, behind a descriptor of the runtime's or one that was inherited. */
    static boolean isStrange(Path fd, String canaries) {
        try {
            String target = Files.readSymbolicLink(fd).toString();
            return !target.startsWith("/proc/") && (target.startsWith(canaries) || Files.isDirectory(Path.of(target)));
        } catch (IOException error) {
            return false;
        }
    }

    public static void main(String[] words) throws Exception {
        var env = System.getenv();
        for (String name : List.of("CANARY_TMP", "CANARY_HOME")) {
            unreadable(name, env.get(name));
            unreadable(name + "-up", "../".repeat(20) + env.get(name));
            unreadable(name + "-proc", "/proc/self/root" + env.get(name));
            unreadable(name + "-init", "/proc/1/root" + env.get(name));
        }
        unreadable("init-environ", "/proc/1/environ");
        refused("init-mem", () -> FileChannel.open(Path.of("/proc/1/mem"), StandardOpenOption.WRITE));
        refused("init-fd", () -> Files.list(Path.of("/proc/1/fd")).count());
        refused("victim", () -> Files.list(Path.of("/proc/" + env.get("VICTIM_PID") + "/fd")).count());
        refused("exe", () -> FileChannel.open(Path.of("/proc/self/exe"), StandardOpenOption.WRITE));
        refused("core-pattern", () -> Files.writeString(Path.of("/proc/sys/kernel/core_pattern"), "|/bin/sh"));
        refused("parked", () -> Files.readAllBytes(Path.of("/sandbox/park")));
        refused("prepared", () -> Files.writeString(Path.of("/prepared/SandboxRun.class"), "x"));
        try (Stream<Path> fds = Files.list(Path.of("/proc/self/fd"))) {
            List<Path> strange = fds.filter(fd -> isStrange(fd, env.get("CANARY_DIR"))).collect(Collectors.toList());
            System.out.println((strange.isEmpty() ? "REFUSED" : "ESCAPED") + " descriptors " + strange);
        }
        child("unshare", "/usr/bin/unshare", "--user", "--map-root-user", "--mount", "true");
        child("mount", "/usr/bin/mount", "-t", "tmpfs", "none", "/tmp");
        refused("kill-victim", () -> ProcessHandle.of(Long.parseLong(env.get("VICTIM_PID"))).orElseThrow().destroyForcibly());
        refused("loopback", () -> {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress("127.0.0.1", Integer.parseInt(env.get("HOST_PORT"))), 2000);
                return socket;
            }
        });
        refused("socket", () -> SocketChannel.open(UnixDomainSocketAddress.of(env.get("HOST_SOCKET"))));
        System.out.println((env.containsKey("SECRET_OF_THE_CALLER") ? "ESCAPED" : "REFUSED") + " environment");
    }
}
