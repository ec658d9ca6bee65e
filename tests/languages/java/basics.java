import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** One program, many modes: the first argument says which. */
public class Basics {
    static void stdin() throws Exception {
        var reader = new BufferedReader(new InputStreamReader(System.in));
        long count = 0, sum = 0;
        for (String line; (line = reader.readLine()) != null; count++)
            sum += Long.parseLong(line);
        System.out.println(count + " lines, sum " + sum);
    }

    static void files() throws Exception {
        Path made = Path.of("made.txt");
        Files.writeString(made, "one\n");
        Files.writeString(made, "two\n", StandardOpenOption.APPEND);
        System.out.print(Files.readString(made));
    }

    static void memory() {
        List<byte[]> kept = new ArrayList<>();
        while (true) {
            byte[] block = new byte[1 << 20];
            Arrays.fill(block, (byte) 1);
            kept.add(block);
        }
    }

    static void big() {
        var line = "x".repeat(63) + "\n";
        var text = new StringBuilder();
        for (int i = 0; i < 40000; i++)
            text.append(line);
        System.out.print(text);
    }

    public static void main(String[] words) throws Exception {
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        switch (words[0]) {
            case "args":
                for (int i = 1; i < words.length; i++)
                    System.out.println("[" + words[i] + "]");
                break;
            case "stdin": stdin(); break;
            case "files": files(); break;
            case "exit": System.exit(7); break;
            case "uncaught": throw new IllegalStateException("deliberate");
            case "forever": while (true) Thread.onSpinWait();
            case "memory": memory(); break;
            case "unicode":
                System.out.println("Grüße, 世界 🌍 " + words[1] + " " + words[1].codePointCount(0, words[1].length()));
                break;
            case "big": big(); break;
        }
    }
}
